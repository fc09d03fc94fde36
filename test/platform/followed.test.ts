import { expect, test } from "vitest";
import { followed, type Reading } from "../../src/platform/followed.ts";

test("the last good value stays while its file is unusable, and each change of the problem is told once", async () => {
  const unusable = (problem: string): Reading<string> => ({ kind: "unusable", problem });
  const readings: Reading<string>[] = [
    { kind: "read", value: "second" },
    unusable("half-written"),
    unusable("half-written"),
    unusable("gone"),
    { kind: "read", value: "third" },
    { kind: "read", value: "third" },
  ];
  const told: (string | undefined)[] = [];
  const { value, reread } = followed(
    "first",
    () => Promise.resolve(readings.shift() ?? unusable("no more")),
    (problem) => told.push(problem),
  );
  expect(value()).toBe("first");
  const values: string[] = [];
  while (readings.length > 0) values.push(await reread());
  expect(values).toEqual(["second", "second", "second", "second", "third", "third"]);
  expect(value()).toBe("third");
  expect(told).toEqual(["half-written", "gone", undefined]);
});
