import { expect, test } from "vitest";
import type { AnswerHints } from "../../../src/features/hints/fields/answer-hints.ts";
import { limitsOf } from "../../../src/features/hints/fields/limits.ts";
import { concernOf } from "../../../src/features/hints/concern.ts";
import { sampleBudget } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";

const MINUTE = { perMs: 60_000, label: "1m" };
const MODEL = sampleBudget({ name: "gpt", rates: [{ requests: 60, ...MINUTE }] });
const ACCOUNT = sampleBudget({ name: "account", rates: [{ requests: 600, ...MINUTE }] });
/** One upstream draws on the model's budget, three on the account's. */
const DRAWS = [
  { budget: ACCOUNT, upstreams: 3 },
  { budget: MODEL, upstreams: 1 },
];
const PAUSE = { scope: "budget", forMs: 30_000, source: "retry_after" } as const;
const REFUSED = { throttled: true, pause: PAUSE } as const;

function heldBy(
  changes: Partial<AnswerHints> & Parameters<typeof sampleAnswerHints>[0],
  draws = DRAWS,
): object {
  return Object.fromEntries(concernOf(draws, sampleAnswerHints(changes)).held);
}

function limitsHeard(hints: AnswerHints, name: string): readonly object[] {
  return limitsOf(concernOf(DRAWS, hints).heard.get(name)?.families ?? []);
}

test("a refusal that says nothing is of the budget that the fewest upstreams draw on", () => {
  expect(heldBy(REFUSED)).toEqual({ gpt: "most_specific" });
});

test("where as many draw on both, it is of the first in the config", () => {
  const tie = DRAWS.map(({ budget }) => ({ budget, upstreams: 1 }));
  expect(heldBy(REFUSED, tie)).toEqual({ account: "most_specific" });
});

test("a good answer that says that nothing is left pauses the most specific budget alone", () => {
  expect(heldBy({ pause: { ...PAUSE, source: "rate_limit" } })).toEqual({ gpt: "most_specific" });
});

test("a refusal that tells the account's limit, and nothing left of it, is the account's", () => {
  const [family] = sampleAnswerHints({ limits: [{ requests: 600, perMs: 60_000 }] }).families;
  if (family === undefined) throw new Error("there must be a family");
  expect(heldBy({ ...REFUSED, families: [{ ...family, remaining: 0 }] })).toEqual({ account: "its_number" });
  expect(heldBy({ ...REFUSED, families: [{ ...family, remaining: 450 }] })).toEqual({
    gpt: "most_specific",
  });
});

test("a refusal that names a policy or a resource like a budget is of that budget", () => {
  const [family] = sampleAnswerHints({ limits: [{ requests: 7, perMs: 60_000 }] }).families;
  if (family === undefined) throw new Error("there must be a family");
  expect(heldBy({ ...REFUSED, families: [{ ...family, key: "policy account" }] })).toEqual({
    account: "its_name",
  });
  expect(heldBy({ ...REFUSED, families: [{ ...family, resource: "account" }] })).toEqual({
    account: "its_name",
  });
});

test("a refusal of the whole account is of the widest budget", () => {
  expect(heldBy({ ...REFUSED, isOfWholeAccount: true })).toEqual({ account: "whole_account" });
});

test("nothing is held by an answer that neither refuses nor asks for a pause", () => {
  expect(heldBy({ limits: [{ requests: 6, perMs: 60_000 }] })).toEqual({});
});

test("who is not refused does not hear of a refusal", () => {
  const { heard } = concernOf(DRAWS, sampleAnswerHints(REFUSED));
  expect(heard.get("gpt")).toMatchObject({ throttled: true, pause: PAUSE });
  expect(heard.has("account")).toBe(false);
});

test.each([
  ["the account's number", { requests: 600, perMs: 60_000 }, [], [600]],
  ["the account's number without a window", { requests: 600, perMs: undefined }, [], [600]],
  ["the model's number", { requests: 60, perMs: 60_000 }, [60], []],
  ["a number that the config does not know", { requests: 6, perMs: 60_000 }, [6], []],
  ["the account's number in another window", { requests: 600, perMs: 1_000 }, [600], []],
])("%s is heard by one budget", (_, limit, model, account) => {
  const hints = sampleAnswerHints({ limits: [limit] });
  const numbers = (name: string): readonly unknown[] =>
    limitsHeard(hints, name).map((each) => Reflect.get(each, "requests"));
  expect([numbers("gpt"), numbers("account")]).toEqual([model, account]);
});

test.each([
  ["what is left of the model's limit", 60, "gpt"],
  ["what is left of the account's", 600, "account"],
  ["what is left of another one", 15, "gpt"],
  ["what is left of a limit that was not told", undefined, "gpt"],
])("%s is heard by one budget", (_, limit, name) => {
  const { heard } = concernOf(
    DRAWS,
    sampleAnswerHints({ remaining: { requests: 1, limit, resetMs: 5_000 } }),
  );
  const left = [...heard].filter(([, { remaining }]) => remaining !== undefined);
  expect(left.map(([budget]) => budget)).toEqual([name]);
});
