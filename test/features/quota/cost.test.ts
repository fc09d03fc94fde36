import { expect, test } from "vitest";
import type { Price } from "../../../src/features/quota/price.ts";
import { formatMoney, unitsOf } from "../../../src/platform/money.ts";
import { mostOf } from "../../../src/features/quota/price.ts";
import { readJson } from "../../../src/kernel/exchange/json-body.ts";
import { costOf } from "../../../src/features/quota/cost.ts";

/** 0.15 for a million of what was asked, 0.60 for a million of what was answered. */
const PRICE: Price = {
  currency: "USD",
  parts: [
    { kind: "answer", of: "/usage/prompt", per: 1_000_000, units: 150_000_000, mostUnits: 15_000 },
    { kind: "answer", of: "/usage/completion", per: 1_000_000, units: 600_000_000, mostUnits: 600 },
  ],
};

function charged(price: Price, text: string): number {
  return costOf(price, () => readJson(new TextEncoder().encode(text))).units;
}

test.each([
  ["all parts are added", '{"usage":{"prompt":20,"completion":1}}', 3_000 + 600],
  [
    "a text that is a number counts, as it does for values",
    '{"usage":{"prompt":"20","completion":1}}',
    3_600,
  ],
  ["a part that is not told is charged the most that it may cost", '{"usage":{"prompt":20}}', 3_000 + 600],
  ["an answer that tells nothing is charged the most of all parts", '{"error":"try later"}', 15_600],
  ["so is one that is no JSON", "<html>", 15_600],
  ["and one with a number that cannot be", '{"usage":{"prompt":-1,"completion":null}}', 15_600],
  [
    "one that costs more than the most is charged what it says",
    '{"usage":{"prompt":1000000,"completion":0}}',
    150_000_000,
  ],
  ["what is less than a billionth is rounded up", '{"usage":{"prompt":0.001,"completion":0}}', 1],
  ["an absurd answer charges what can still be summed", '{"usage":{"prompt":9e15,"completion":9e15}}', 1e15],
])("%s", (_, text, units) => {
  expect(charged(PRICE, text)).toBe(units);
  expect(mostOf(PRICE)).toBe(15_600);
});

test("a price for each request does not ask the answer", () => {
  const price: Price = { currency: "EUR", parts: [{ kind: "request", units: 400_000 }] };
  const cost = costOf(price, () => {
    throw new Error("it was asked");
  });
  expect(cost).toEqual({ currency: "EUR", units: 400_000, reserved: 400_000 });
});

test.each([
  [0.1, 100_000_000, "0.10"],
  [0.29, 290_000_000, "0.29"],
  [1.1, 1_100_000_000, "1.10"],
  [5, 5_000_000_000, "5.00"],
  [0.000125, 125_000, "0.000125"],
  [0.000000001, 1, "0.000000001"],
  [1_000_000, 1e15, "1000000.00"],
])("%d is %d billionths, and shown as %s", (amount, units, shown) => {
  expect([unitsOf(amount), formatMoney(units)]).toEqual([units, shown]);
});
