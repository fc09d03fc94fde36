import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { sharedWhileUnderWay } from "../core/time/shared-work.ts";

/** As much as a config may name at the start: every authority that a system trusts. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Some files of the system say that they are empty. */
const MIN_READ_BYTES = 4096;

/**
 * Files are read again while the program runs, and what lies there may be something else by then: opening a pipe would
 * wait for its writer, in one of the few threads that read files, some devices never end, and a file may be endless.
 */
export const readRegularFile: (path: string) => Promise<string> = sharedWhileUnderWay(readOnce);

async function readOnce(path: string): Promise<string> {
  if (!(await stat(path)).isFile()) throw new Error(`cannot read ${path}: it is not a regular file`);
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new Error(`cannot read ${path}: it is longer than 8MiB`);
    const bytes = Buffer.alloc(Math.max(size, MIN_READ_BYTES) + 1);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    if (bytesRead === bytes.length) throw new Error(`cannot read ${path}: it grows while it is read`);
    return bytes.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
