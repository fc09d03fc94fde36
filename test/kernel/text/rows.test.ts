import { expect, test } from "vitest";
import {
  type Check,
  count,
  json,
  listOf,
  objectOf,
  numbersOf,
  oneOf,
  optional,
  readRows,
  type Row,
  text,
  whole,
} from "../../../src/kernel/text/rows.ts";

const PHASES = ["dns", "connect"] as const;
const EMPTY = '{"phases":{},"headers":[]}';

/** What is read of a value, or "left out". */
function read(value: unknown, check: Check<unknown>): unknown {
  const rows = readRows([{ value }, { value: 1 }], (row) => row.get("value", check));
  return rows.length === 2 ? rows[0] : "left out";
}

test.each([
  [1, 1],
  [1.5, "left out"],
  [2 ** 53, "left out"],
  [-1, "left out"],
  ["1", "left out"],
  [Number.NaN, "left out"],
  [undefined, "left out"],
  [null, "left out"],
])("a whole number of at least 0: %j is %j", (value, expected) => {
  expect(read(value, count)).toBe(expected);
});

test.each([
  [undefined, undefined],
  [null, undefined],
  [-1, -1],
  ["1", "left out"],
])("a whole number that may be left out: %j is %j", (value, expected) => {
  expect(read(value, optional(whole))).toBe(expected);
});

test("what is no object is no row", () => {
  expect(readRows([null, 1, "row", [], undefined], () => 1)).toEqual([]);
});

test("texts, choices, and in JSON numbers by name and lists, are read only as we write them", () => {
  const rows = [
    { text: "a", choice: "up", facts: '{"phases":{"dns":1.5},"headers":[{"name":"date","bytes":29}]}' },
    { text: 1, choice: "up", facts: EMPTY },
    { text: "b", choice: "sideways", facts: EMPTY },
    { text: "c", choice: "up", facts: '{"phases":{"tls":1},"headers":[]}' },
    { text: "d", choice: "up", facts: '{"phases":{"dns":null},"headers":[]}' },
    { text: "e", choice: "up", facts: '{"phases":[],"headers":[]}' },
    { text: "f", choice: "up", facts: "{" },
    { text: "g", choice: "up", facts: '{"phases":{},"headers":{}}' },
    { text: "h", choice: "up", facts: '{"phases":{},"headers":[{"name":"date","bytes":0.5}]}' },
    { text: "i", choice: "down", facts: EMPTY },
  ];
  const headerOf = (header: Row) => ({ name: header.get("name", text), bytes: header.get("bytes", whole) });
  const factsOf = (facts: Row) => ({
    phases: facts.get("phases", numbersOf(PHASES)),
    headers: facts.get("headers", listOf(objectOf(headerOf))),
  });
  const told = readRows(rows, (row) => ({
    text: row.get("text", text),
    choice: row.get("choice", oneOf(["up", "down"])),
    ...row.get("facts", json(factsOf)),
  }));
  expect(told).toEqual([
    { text: "a", choice: "up", phases: { dns: 1.5 }, headers: [{ name: "date", bytes: 29 }] },
    { text: "i", choice: "down", phases: {}, headers: [] },
  ]);
});

test("a fault of ours is no damage of theirs", () => {
  const fault = new TypeError("ours");
  const failing = (): never => {
    throw fault;
  };
  expect(() => readRows([{}], failing)).toThrow(fault);
});
