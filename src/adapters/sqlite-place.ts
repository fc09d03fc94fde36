import { mkdirSync, statSync, type Stats } from "node:fs";
import { dirname } from "node:path";

/**
 * The state file as its folder shows it. Never opened but by SQLite: closing any other handle of it would drop the
 * locks that this process holds.
 */
function lookAt(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** Goes on from `must be`. */
export class PlaceError extends Error {}

export function requirePlace(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PlaceError(`in a directory that exists or can be made, received ${reason}`);
  }
  if (lookAt(path)?.isDirectory() === true) throw new PlaceError("a file, received a directory");
}

export function hasBytes(path: string): boolean {
  return (lookAt(path)?.size ?? 0) > 0;
}

/** Another number means that it is another file now. */
export function inodeOf(path: string): number | undefined {
  return lookAt(path)?.ino;
}
