import { codeOf } from "../kernel/text/escape.ts";
import { constants, type Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { sharedWhileUnderWay } from "./shared-work.ts";

/** A config with as many upstreams as it may have is shorter, and so is a file of every authority that a system trusts. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Some files of the system say that they are empty. */
const MIN_READ_BYTES = 4096;

/** Its message says why a file is not read, in words that continue a sentence about it. */
class UnreadableFile extends Error {}

/**
 * Every file that a config can name is read by this, at the start and again while the program runs, when it may be
 * something else. Opening a pipe would wait for its writer, in one of the few threads that read files, some devices never
 * end, and a file may be endless.
 */
export async function readRegularFile(path: string, maxBytes: number = MAX_FILE_BYTES): Promise<Buffer> {
  // Before it is opened, as opening can have effects on a device; and after, as it may be another by then.
  requireRegular(await stat(path));
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stats = await file.stat();
    requireRegular(stats);
    if (stats.size > maxBytes) throw new UnreadableFile(`it is longer than ${inWords(maxBytes)}`);
    const bytes = Buffer.alloc(Math.max(stats.size, MIN_READ_BYTES) + 1);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    if (bytesRead === bytes.length) throw new UnreadableFile("it grows while it is read");
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function requireRegular(stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new UnreadableFile("it is a directory");
  if (stats.isFIFO()) throw new UnreadableFile("it is a pipe, not a file");
  throw new UnreadableFile(stats.isSocket() ? "it is a socket, not a file" : "it is a device, not a file");
}

function inWords(bytes: number): string {
  const kibibytes = bytes / 1024;
  return kibibytes < 1024 ? `${kibibytes}KiB` : `${kibibytes / 1024}MiB`;
}

/** A file that is read again and again is read once at a time, however many ask. */
export const readRegularText: (path: string) => Promise<string> = sharedWhileUnderWay(async (path) => {
  try {
    return (await readRegularFile(path)).toString("utf8");
  } catch (error) {
    if (error instanceof UnreadableFile)
      throw new Error(`cannot read ${path}: ${error.message}`, { cause: error });
    throw error;
  }
});

/** Says why a file could not be read, in words and without its path. */
export function fileProblem(error: unknown): string {
  if (error instanceof UnreadableFile) return error.message;
  const code = codeOf(error) ?? "unknown";
  switch (code) {
    case "ENOENT":
      return "there is no such file";
    case "EACCES":
    case "EPERM":
      return "it may not be read (permission denied)";
    case "EISDIR":
      return "it is a directory";
    case "ENOTDIR":
      return "part of its path is not a directory";
    case "ELOOP":
      return "its links form a loop";
    default:
      return `reading failed (${code})`;
  }
}
