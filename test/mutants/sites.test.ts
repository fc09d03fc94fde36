import { describe, expect, test } from "vitest";
import { changed, sitesIn } from "../../tools/mutants/sites.ts";

function changesOf(source: string): readonly string[] {
  return sitesIn(source).map((site) => changed(source, site));
}

describe("one small change at a time", () => {
  test.each([
    ["if (a < b) go;", ["if (a <= b) go;"]],
    ["const x = a >= b;", ["const x = a > b;"]],
    ["const x = a === b;", ["const x = a !== b;"]],
    ["const x = a + b;", ["const x = a - b;"]],
    ["const x = (a) * /* times */ b;", ["const x = (a) / /* times */ b;"]],
    ["const x = a && b;", ["const x = a || b;"]],
    ["const x = !a;", ["const x = !!(a);"]],
    ["const x = -a;", ["const x = (a);"]],
    ["const x = 0;", ["const x = 1;"]],
    ["const x = 1;", ["const x = 0;"]],
    ["const x = 60_000;", ["const x = 120000;"]],
    ["if (a) go;", ["if (!(a)) go;"]],
    ["const x = a ? b : c;", ["const x = !(a) ? b : c;"]],
    ["a += b;", [";", "a -= b;"]],
    ["this.#a.go(b);", [";"]],
    ["await go();", [";"]],
    ["void go();", [";"]],
    ["function f() { return; }", ["function f() { ; }"]],
  ])("%s", (source, wanted) => {
    expect(changesOf(source).toSorted()).toEqual([...wanted].toSorted());
  });

  test("the line and the change are told, whatever letters are before it", () => {
    const source = 'const é = "🐢";\n\nif (a < b) go;';
    const start = source.indexOf("<");
    expect(sitesIn(source)).toEqual([
      { start, end: start + 1, replacement: "<=", change: "< becomes <=", line: 3 },
    ]);
  });
});

test.each([
  ["a type", "type A = { readonly a: 1; readonly b: -1 };"],
  ["an annotation", "const a: 1 | 2 = b;"],
  ["an import", 'import { a } from "./a1.ts";'],
  ["a comment", "// a < b\n/* 1 + 1 */"],
  ["an interface", "interface A { go(a: 1): void }"],
  ["the text of an error", "throw new Error(a < b ? c : d);"],
  ["a text of several parts", "const x = `${a + 1}`;"],
  ["a text that is joined", 'const x = "a" + b + "c";'],
  ["a line of the log", "this.#log.warn({ a: 1 }, b);"],
  ["a warning", "onWarning(a && b);"],
  ["a timer that keeps nothing alive", "timer.unref();"],
  ["what is removed again", 'signal.removeEventListener("abort", done);'],
  ["a switch that is complete", "event satisfies never;"],
])("nothing is changed in %s", (_, source) => expect(changesOf(source)).toEqual([]));

test("what runs beside a type is changed", () => {
  expect(changesOf("const a = (b < c) as boolean;")).toEqual(["const a = (b <= c) as boolean;"]);
  expect(changesOf("const a = { b: c < d } satisfies A;")).toEqual(["const a = { b: c <= d } satisfies A;"]);
});
