import { expect, test } from "vitest";
import { figureOf, ratioOf } from "../../bench/report/figure.ts";
import { GOALS } from "../../bench/report/goals.ts";
import { missedGoals, verdictOf } from "../../bench/report/verdict.ts";

const goal = { figure: "cpu", says: "CPU", atMost: 0.45 };

test("a median at the goal has met it, whatever the worst round was", () => {
  expect(verdictOf(goal, figureOf("cpu", "", "ratio", [0.4, 0.45, 0.9]))).toBe("met");
});

test("a median beyond the goal by less than the rounds differ is noise, not a miss", () => {
  expect(verdictOf(goal, figureOf("cpu", "", "ratio", [0.42, 0.48, 0.5]))).toBe("noisy");
});

test("a median beyond the goal by more than the rounds differ is a miss", () => {
  expect(verdictOf(goal, figureOf("cpu", "", "ratio", [0.52, 0.53, 0.54]))).toBe("missed");
});

test("a single value has no noise to hide in", () => {
  expect(verdictOf(goal, figureOf("cpu", "", "ratio", [0.46]))).toBe("missed");
});

test("what could not be measured has not met its goal", () => {
  expect(verdictOf(goal, figureOf("cpu", "", "ratio", []))).toBe("missed");
  expect(verdictOf(goal, figureOf("cpu", "", "ratio", [Number.NaN]))).toBe("missed");
});

test("only goals of figures that this run has measured can be missed", () => {
  const slow = { ...goal, figure: "slow" };
  const figures = [ratioOf("cpu", "", "µs", { ours: [90], theirs: [100] })];
  expect(missedGoals([goal, slow], figures)).toEqual([goal]);
});

test("every goal speaks of a figure of its own", () => {
  expect(new Set(GOALS.map(({ figure }) => figure)).size).toBe(GOALS.length);
});
