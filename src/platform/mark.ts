import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";

/** A mark says what a file looked like just before it was read. */
export type Marks = ReadonlyMap<string, string>;

/** A mark is another after every change, however little the file system tells: a link that was swapped leads to another inode. */
export async function markOf(file: string): Promise<string> {
  try {
    const { ctimeNs, size, ino } = await stat(file, { bigint: true });
    return `${ctimeNs} ${size} ${ino}`;
  } catch (error) {
    return String(error);
  }
}

/** One after the other: thousands at once would keep others from their files. */
export async function marksOf(files: Iterable<string>): Promise<Marks> {
  const marks = new Map<string, string>();
  for (const file of files) marks.set(file, await markOf(file));
  return marks;
}

export async function hasChanged(marks: Marks): Promise<boolean> {
  for (const [file, mark] of marks) if ((await markOf(file)) !== mark) return true;
  return false;
}

/** A file that cannot be read has this in place of a digest. */
export const UNREADABLE = "unreadable";

/** Tells whether the content of a file is another. */
export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
