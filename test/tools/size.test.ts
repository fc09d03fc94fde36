import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeLines, linesOf, roomOf, sizesOf, judgedSizes } from "../../tools/size.ts";

const TYPESCRIPT = `/** What it is for. */
import { a } from "a";

/**
 * Says why.
 *
 */
export const url = "http://a"; // Why it is so.
  // A whole line.
/* one */
const all = { a };
`;

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "pacewatch-size-test-"));
  for (const folder of ["src/kernel/time", "src/app/deep/er", "test/kernel"]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  await writeFile(join(root, "src/main.ts"), "a();\n");
  await writeFile(join(root, "src/kernel/time/clock.ts"), TYPESCRIPT);
  await writeFile(join(root, "src/app/deep/er/a.ts"), "a();\nb();\n");
  await writeFile(join(root, "src/app/page.html"), "<p>\n");
  await writeFile(join(root, "test/kernel/a.test.ts"), "test();\n");
});

afterAll(() => rm(root, { recursive: true, force: true }));

test("blanks and comments are no code, and a comment behind code takes nothing from it", () => {
  expect(codeLines("a.ts", TYPESCRIPT)).toBe(3);
  expect(codeLines("a.css", "/* Why,\n   and why. */\na {\n  color: red;\n}\n")).toBe(3);
  expect(codeLines("a.json", "{}\n")).toBe(0);
});

test("a room is what the map of the house has", () => {
  expect(roomOf("src/main.ts")).toBe("src");
  expect(roomOf("src/app/build.ts")).toBe("src/app");
  expect(roomOf("src/features/fleet/redis/a.ts")).toBe("src/features/fleet");
  expect(roomOf("test/kernel/budget/a.test.ts")).toBe("test");
});

test("every file is in its room, and each of src in the sum", () => {
  expect(Object.fromEntries(sizesOf(root))).toEqual({
    "src/kernel/time": 3,
    "src/app/deep": 2,
    src: 6,
    test: 1,
  });
});

test("next to another revision each line says how many are more or fewer, a room that has gone too", () => {
  const lines = linesOf(
    sizesOf(root),
    new Map([
      ["src/kernel/gone", 4],
      ["src/kernel/time", 1],
      ["src", 5],
      ["test", 1],
    ]),
  );
  expect(lines.map((line) => line.split(/ +/))).toEqual([
    ["src/app/deep", "2", "+2"],
    ["src/kernel/gone", "0", "-4"],
    ["src/kernel/time", "3", "+2"],
    ["src", "6", "+1"],
    ["test", "1"],
  ]);
});

test("the house is as small as it is judged", () => {
  const { kernel, way, wire, reach } = judgedSizes(process.cwd());
  expect(kernel).toBeLessThanOrEqual(4_000);
  expect(way).toBeLessThanOrEqual(2_600);
  expect(wire).toBeLessThanOrEqual(1_600);
  expect(reach).toBeLessThanOrEqual(3_500);
});
