import { expect, test } from "vitest";
import { readRows, type Row } from "../../../src/adapters/sqlite/rows.ts";

const PHASES = ["dns", "connect"] as const;

/** What is read of a value, or "left out". */
function read(value: unknown, how: (row: Row) => unknown): unknown {
  const rows = readRows([{ value }, { value: 1 }], (row) => (row.has("value") ? how(row) : null));
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
  [null, null],
])("a whole number of at least 0: %j is %j", (value, expected) => {
  expect(read(value, (row) => row.whole("value", 0))).toBe(expected);
});

test("what is no object is no row", () => {
  expect(readRows([null, 1, "row", [], undefined], () => 1)).toEqual([]);
});

test("texts, choices, numbers by name and headers are read only as we write them", () => {
  const rows = [
    { text: "a", choice: "up", phases: '{"dns":1.5}', headers: '[{"name":"date","bytes":29}]' },
    { text: 1, choice: "up", phases: "{}", headers: "[]" },
    { text: "b", choice: "sideways", phases: "{}", headers: "[]" },
    { text: "c", choice: "up", phases: '{"tls":1}', headers: "[]" },
    { text: "d", choice: "up", phases: '{"dns":null}', headers: "[]" },
    { text: "e", choice: "up", phases: "[]", headers: "[]" },
    { text: "f", choice: "up", phases: "{", headers: "[]" },
    { text: "g", choice: "up", phases: "{}", headers: "{}" },
    { text: "h", choice: "up", phases: "{}", headers: '[{"name":"date","bytes":0.5}]' },
    { text: "i", choice: "down", phases: "{}", headers: "[]" },
  ];
  const told = readRows(rows, (row) => ({
    text: row.text("text"),
    choice: row.oneOf("choice", ["up", "down"]),
    phases: row.numbers("phases", PHASES),
    headers: row.headers("headers"),
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
