import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Ran = { readonly code: number | null; readonly output: string };

export function run(program: string, args: readonly string[]): Ran {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return { code: status, output: `${stdout}${stderr}` };
}

/** With these files in a folder of their own, which is gone afterwards. */
export function runWith(
  files: Readonly<Record<string, string>>,
  program: string,
  argsIn: (folder: string) => readonly string[],
): Ran {
  const folder = mkdtempSync(join(tmpdir(), "pacewatch-rules-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return run(program, argsIn(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
