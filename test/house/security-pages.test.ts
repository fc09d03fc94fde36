import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Every link of a page that leads to a file beside it, without the place inside. */
function localLinks(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target.replace(/#.*$/, ""))
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target));
}

test.each(["SECURITY.md", "docs/threat-model.md", "docs/dependencies.md"])(
  "what %s refers to is there",
  (page) => {
    const missing = localLinks(page).filter((target) => !existsSync(join(ROOT, dirname(page), target)));
    expect(missing).toEqual([]);
  },
);

test("every threat names a test that shows how it is met", () => {
  const page = readFileSync(join(ROOT, "docs/threat-model.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !/^\| (could|-)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  const unshown = rows.filter(
    (row) => !/\]\((?:\.\.\/test\/\S+\.test\.ts|fault-matrix\.md)\) *(?:\||,)/.test(row),
  );
  expect(unshown).toEqual([]);
});
