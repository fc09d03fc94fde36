import { expect, test } from "vitest";

import { advise, expectSane, NAMES } from "./sane.ts";

test.each([
  ["digits", "9"],
  ["commas", ","],
  ["quotes", '"'],
  ["semicolons", "100;"],
  ["limits", "1,"],
  ["durations", "1h"],
  ["backslashes", '"\\'],
  ["brackets", "("],
  ["members", '"a";q=1,'],
  ["parameters", '"a";q=1;b'],
  ["members of a dictionary", "limit=1,"],
  ["zone names", "Fri Nov 20 2026 13:00:02 GMT+0100 ("],
  ["hyphens", "-1"],
])("half a megabyte of %s in every field is read through", (_, piece) => {
  const value = piece.repeat(Math.ceil(500_000 / piece.length));
  const headers = NAMES.map((name) => [name, value] as const);
  const hints = advise(429, headers);
  expectSane(hints, headers.length);
  expect(hints.throttled).toBe(true);
});

test("a name of half a megabyte is read through", () => {
  for (const part of ["x-", "x-rate", "a", "x-ratelimit-", "rate-limit-remaining-"]) {
    const name = part.repeat(Math.ceil(500_000 / part.length));
    expect(advise(429, [[name, "0"]])).toMatchObject({ throttled: true, families: [] });
  }
});
