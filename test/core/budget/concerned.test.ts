import { expect, test } from "vitest";

import { limitsOf } from "../../../src/core/advice/limits.ts";
import { adviceFor } from "../../../src/core/budget/signals.ts";
import { sampleAdvice, sampleBudget } from "../../support/samples.ts";

const MINUTE = { perMs: 60_000, label: "1m" };
const MODEL = sampleBudget({ name: "model", rates: [{ requests: 20, ...MINUTE }] });
const ACCOUNT = sampleBudget({ name: "account", rates: [{ requests: 60, ...MINUTE }] });
const BOTH = [MODEL, ACCOUNT];

test.each([
  ["the model's limit is the model's alone", { requests: 20, perMs: 60_000 }, [true, false]],
  ["so it is without a window", { requests: 20, perMs: undefined }, [true, false]],
  ["the account's limit is the account's alone", { requests: 60, perMs: 60_000 }, [false, true]],
  ["a limit that the config does not know may be anybody's", { requests: 15, perMs: 60_000 }, [true, true]],
  ["so may the number in another window", { requests: 20, perMs: 1_000 }, [true, true]],
])("%s", (_sentence, limit, heard) => {
  const advice = sampleAdvice({ limits: [limit] });
  const limits = BOTH.map((budget) => adviceFor(budget, BOTH, advice).families);
  expect(limits.map((each) => each.length === 1)).toEqual(heard);
});

test.each([
  ["what is left of the model's limit", 20, [true, false]],
  ["what is left of the account's", 60, [false, true]],
  ["what is left of another one", 15, [true, true]],
  ["what is left of a limit that was not told", undefined, [true, true]],
])("%s is heard by whoever it may concern", (_sentence, limit, heard) => {
  const advice = sampleAdvice({ remaining: { requests: 1, limit, resetMs: 5_000 } });
  const left = BOTH.map((budget) => adviceFor(budget, BOTH, advice).remaining);
  expect(left.map((each) => each !== undefined)).toEqual(heard);
});

test("two budgets with the same limit both heed it", () => {
  const twins = [MODEL, { ...ACCOUNT, rates: MODEL.rates }];
  const advice = sampleAdvice({ limits: [{ requests: 20, perMs: 60_000 }] });
  expect(twins.map((budget) => adviceFor(budget, twins, advice))).toEqual([advice, advice]);
});

test("a limit that may be anybody's is heard beside a lower one that is another budget's alone", () => {
  const [anybodys, models] = [40, 20].map((requests) => ({ requests, perMs: 60_000 }));
  const limits = [anybodys, models].filter((limit) => limit !== undefined);
  const heard = adviceFor(ACCOUNT, BOTH, sampleAdvice({ limits }));
  expect(limitsOf(heard.families)).toEqual([anybodys]);
});

test("a refusal and a pause concern all of them, whatever limit is told beside", () => {
  const pause = { scope: "budget", forMs: 30_000, source: "retry_after" } as const;
  const advice = sampleAdvice({ throttled: true, pause, limits: [{ requests: 20, perMs: 60_000 }] });
  for (const budget of BOTH)
    expect(adviceFor(budget, BOTH, advice)).toMatchObject({ throttled: true, pause });
});

test("one budget alone hears everything as it was said", () => {
  const advice = sampleAdvice({ limits: [{ requests: 20, perMs: 60_000 }] });
  expect(adviceFor(MODEL, [MODEL], advice)).toBe(advice);
});
