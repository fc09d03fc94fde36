import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

type Ending = { readonly code: unknown; readonly output: string };

function run(...options: readonly string[]): Promise<Ending> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...options], (error, output) => {
      resolve({ code: error === null ? 0 : error.code, output });
    });
  });
}

test("a run without a violation ends well, and says how much it saw", async () => {
  const { code, output } = await run("--seeds", "6", "--hours", "0.05", "--workers", "2");
  // A slow machine is told of the progress before.
  expect(output.trim().split("\n").at(-1)).toMatch(
    /^[\d,]+ polls in 6 seeds, \d+ virtual hours and \d+ lives of the process, in \d+ s: no violation$/,
  );
  expect(code).toBe(0);
});

test("what it cannot understand is wrong usage, not a pass", async () => {
  expect((await run("--seeds", "many")).code).toBe(2);
  expect((await run("--no-such-option")).code).toBe(2);
});
