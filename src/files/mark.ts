import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";

/** What each of several files looked like just before it was read. */
export type Marks = ReadonlyMap<string, string>;

/** Another after every change, whatever the file system tells of: a link that was swapped leads to another inode. */
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

/** In place of the digest of a file that cannot be read. */
export const UNREADABLE = "unreadable";

/** Tells whether the content of a file is another. */
export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
