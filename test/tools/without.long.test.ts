import { expect, test } from "vitest";
import { faultsWithout } from "../../tools/without.ts";

test.each(["badges", "expect", "report", "streams"])("%s can be taken away", (feature) => {
  expect(faultsWithout(feature)).toEqual([]);
});
