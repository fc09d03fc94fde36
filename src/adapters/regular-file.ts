import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";

/**
 * Files are read again while the program runs, and what lies there may be something else by then: opening a pipe would
 * wait for its writer, in one of the few threads that read files, and some devices never end.
 */
export async function readRegularFile(path: string): Promise<string> {
  if (!(await stat(path)).isFile()) throw new Error(`cannot read ${path}: it is not a regular file`);
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
