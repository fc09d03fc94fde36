import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

test("every threat names a test that shows how it is met", () => {
  const page = readFileSync(join(ROOT, "docs/threat-model.md"), "utf8");
  const threats = page.replaceAll(/<!-- (attacks|answers) -->[^]*?<!-- \/\1 -->/g, "");
  const rows = threats
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (could|of one answer|-)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  const unshown = rows.filter(
    (row) => !/\]\((?:\.\.\/test\/\S+\.test\.ts|fault-matrix\.md)\) *(?:\||,)/.test(row),
  );
  expect(unshown).toEqual([]);
});
