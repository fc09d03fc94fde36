import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type InPieces, mergedInPieces } from "../../../src/core/status/in-pieces.ts";
import { jsonPieces } from "../../../src/core/status/json-pieces.ts";

function finish<Result>(work: InPieces<Result>): { readonly result: Result; readonly pieces: number } {
  for (let pieces = 1; ; pieces += 1) {
    const { done, value } = work.next();
    if (done === true) return { result: value, pieces };
  }
}

type Timed = { readonly list: number; readonly atMs: number };

test("lists that are in order are merged as a stable sort would", () => {
  const lists = fc.array(fc.array(fc.nat(20)));
  fc.assert(
    fc.property(lists, (times) => {
      const sorted = times.map((list, index) =>
        list.toSorted((a, b) => b - a).map((atMs): Timed => ({ list: index, atMs })),
      );
      const newestFirst = (one: Timed, other: Timed): number => other.atMs - one.atMs;
      expect(finish(mergedInPieces(sorted, newestFirst)).result).toEqual(sorted.flat().toSorted(newestFirst));
    }),
  );
});

test("long lists are merged in many pieces", () => {
  const long = Array.from({ length: 50_000 }, (_, index) => index);
  expect(finish(mergedInPieces([long, long], (a, b) => a - b)).pieces).toBeGreaterThan(90);
});

test("pieces of JSON are together what JSON.stringify writes", () => {
  const late = { toJSON: () => ({ is: "made late" }) };
  const values = fc.anything({ withNullPrototype: false, maxDepth: 4 });
  fc.assert(
    fc.property(values, (value) => {
      const answer = { value, list: [value, late, undefined], late, missing: undefined, empty: [], none: {} };
      expect([...jsonPieces(answer)].join("")).toBe(JSON.stringify(answer));
      expect([...jsonPieces(value)].join("")).toBe(JSON.stringify(value) ?? "null");
    }),
  );
});

test("each item of a list is made when its piece is", () => {
  const made: number[] = [];
  const items = Array.from({ length: 3 }, (_, index) => ({ toJSON: () => made.push(index) }));
  const pieces = jsonPieces({ items });
  while (made.length === 0) pieces.next();
  expect(made).toEqual([0]);
});
