import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { faultMatrixRow } from "../../tools/fault-matrix/page.ts";
import { BEHAVIOURS } from "../support/behaviours/catalogue.ts";

const BLACKBOX = 3;

function rowsOf(page: string): readonly (readonly string[])[] {
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (-|An upstream that )/.test(line));
  return rows.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const rows = rowsOf(readFileSync("docs/fault-matrix.md", "utf8"));

test("the page about the fault matrix has a row for each behaviour, in their order, and tells what it is tested for", () => {
  const expected = BEHAVIOURS.map((behaviour, index) =>
    faultMatrixRow(behaviour, rows[index]?.[BLACKBOX] ?? ""),
  );
  expect(rows, "stale: run npm run fault-matrix").toEqual(expected);
});

test("what blackbox_exporter reports was measured wherever it can be asked", () => {
  const measured = rows.map(([does, , , told]) => [does, /^[01], status \d+/.test(told ?? "")]);
  const askable = BEHAVIOURS.map(({ does, lookup, credential }) => [
    does,
    lookup === undefined && credential === undefined,
  ]);
  expect(measured).toEqual(askable);
});
