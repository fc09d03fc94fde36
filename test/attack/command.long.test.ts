import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { loadAttacks } from "../../tools/attack/attack.ts";

const TOOL = fileURLToPath(new URL("../../tools/attack.ts", import.meta.url));

type Ran = { readonly code: number; readonly said: string };

function attack(...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [TOOL, ...args], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });
}

test("--help names the options and every attack", async () => {
  const { code, said } = await attack("--help");
  expect(code).toBe(0);
  for (const option of ["--upstreams", "--seconds", "--only", "--write"]) expect(said).toContain(option);
  for (const { name } of await loadAttacks()) expect(said).toContain(name);
});

test.each([
  ["--upstreams", "0"],
  ["--seconds", "99"],
  ["--only", "no such attack"],
])("%s %s is refused with a sentence", async (...args) => {
  const { code, said } = await attack(...args);
  expect(code).toBe(2);
  expect(said).toMatch(/^cannot attack: .*\n$/);
});
