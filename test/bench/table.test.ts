import { expect, test } from "vitest";
import { figureOf, ratioOf } from "../../bench/report/figure.ts";
import { amount, tableOf } from "../../bench/report/table.ts";

test("a row tells the ratio, its goal, whether it is met, and what it was made of", () => {
  const figure = ratioOf("cpu-http-fresh", "CPU", "µs", { ours: [40, 44], theirs: [100, 100] });
  expect(tableOf([figure])).toBe(
    [
      "| figure | min  | median | max  | goal   | is  | Pacewatch | the other |",
      "| ------ | ---- | ------ | ---- | ------ | --- | --------- | --------- |",
      "| CPU    | 0.40 | 0.42   | 0.44 | ≤ 0.45 | met | 42 µs     | 100 µs    |",
      "",
    ].join("\n"),
  );
});

test("a figure without a goal is shown without a verdict", () => {
  const row = tableOf([figureOf("rss-bare", "bare", "MB", [43.75])]).split("\n")[2];
  expect(row?.split("|").map((cell) => cell.trim())).toEqual([
    "",
    "bare",
    "43.8 MB",
    "43.8 MB",
    "43.8 MB",
    "",
    "",
    "",
    "",
    "",
  ]);
});

test("a program that is not on this machine has a row that says so", () => {
  const row = tableOf([figureOf("cpu-gatus", "CPU, to Gatus", "ratio", [])]).split("\n")[2];
  const cells = row?.split("|").map((cell) => cell.trim());
  expect(cells?.filter((cell) => cell !== "")).toEqual(["CPU, to Gatus", "not here"]);
});

test.each([
  [0.4567, "ratio", "0.46"],
  [1_268.4, "µs", "1268 µs"],
  [0.03456, "ms", "0.0346 ms"],
  [0, "count", "0"],
  [12, "count", "12"],
] as const)("%d %s is told as %s", (value, unit, told) => {
  expect(amount(value, unit)).toBe(told);
});
