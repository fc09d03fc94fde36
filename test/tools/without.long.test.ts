import { expect, test } from "vitest";
import { faultsWithout } from "../../tools/without.ts";

test.each([
  "announcements",
  "auth",
  "badges",
  "expect",
  "fleet",
  "notify",
  "page",
  "refusals",
  "report",
  "streams",
  "values",
])("%s can be taken away", (feature) => {
  expect(faultsWithout(feature)).toEqual([]);
});
