import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Where a program that we do not bring along is on this machine. Without it its tests cannot run: that is said
 * aloud, and where everything is promised to be there (CI=true), it is a fault.
 */
export function requireBinary(name: string): string | undefined {
  const found = findBinary(name);
  if (found === undefined) {
    const fault = `cannot run the tests that need it: "${name}" must be on the PATH, received nothing of that name`;
    if (process.env["CI"] === "true") throw new Error(fault);
    process.stderr.write(`\n*** SKIPPED: ${fault}\n\n`);
  }
  return found;
}

/** For a program that no package of Debian's brings, so that nobody can promise it. */
export function findBinary(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
