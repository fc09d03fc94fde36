import { expect, test } from "vitest";
import { humanDuration, humanLatency } from "../../src/platform/humanize.ts";

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

test.each([
  [0, "0 ms"],
  [340, "340 ms"],
  [999.9, "999 ms"],
  [SECOND, "1 s"],
  [59_999, "59 s"],
  [MINUTE, "1 min"],
  [3 * MINUTE + 20 * SECOND, "3 min 20 s"],
  [14 * MINUTE + 50 * SECOND, "14 min"],
  [HOUR + 59 * MINUTE, "1 h 59 min"],
  [23 * HOUR + 59 * MINUTE, "23 h"],
  [2 * DAY + 4 * HOUR, "2 d 4 h"],
  [400 * DAY, "400 d"],
])("%d ms lasted %s", (ms, words) => expect(humanDuration(ms)).toBe(words));

test.each([
  [0, "0 ms"],
  [0.34, "0.3 ms"],
  [9.94, "9.9 ms"],
  [9.95, "10 ms"],
  [87.4, "87 ms"],
  [999.4, "999 ms"],
  [999.6, "1 s"],
  [999.5, "1 s"],
  [1_240, "1.24 s"],
  [9_994, "9.99 s"],
  [9_995, "10 s"],
  [12_340, "12.3 s"],
  [10_003, "10 s"],
  [61_250, "61.3 s"],
])("a poll of %d ms took %s", (ms, words) => expect(humanLatency(ms)).toBe(words));
