import { rewriteNotes } from "../../../src/features/state/rewriting.ts";
import { quotasKept } from "../../support/kept-quotas.ts";
import { opened } from "../../support/opened.ts";
import { expect, test } from "vitest";

import { systemClock } from "../../../src/platform/clock.ts";
import { openStateStore } from "../../../src/features/state/store.ts";
import { quota, type Used } from "../../../src/features/quota/command.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { load } from "../../../src/app/features/sections.ts";

const SPEND = { at_most: 5, per: "30d", on_exhaust: "stop" };
const PRICE = { per_request: 0.001, currency: "EUR" };
const LOG = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function typed(
  changes: object,
  budget = "api",
  used: Used = { amount: 12, currency: undefined },
): Promise<{ code: number; out: string; err: string; counted: readonly unknown[] }> {
  const rate = { requests: 600, per: "1m" };
  await using folder = await openConfigFolder({
    budgets: {
      api: { rate, quota: { requests: 50, per: "30d", on_exhaust: "stop" } },
      free: { rate },
      paid: { rate, spend: SPEND, price: PRICE },
      both: { rate, spend: SPEND, price: PRICE, quota: { requests: 50, per: "30d", on_exhaust: "stop" } },
    },
    upstreams: ["api", "paid", "both"].map((each) =>
      rawUpstream(each, "http://127.0.0.1:1", { budget: each }),
    ),
    ...changes,
  });
  const path = folder.path.replace(/[^/]*$/, "data/pacewatch.db");
  const opening = { path, log: LOG, clock: systemClock };
  const first = await openStateStore(opening);
  if (first.kind === "opened") await first.what.close();
  let [out, err] = ["", ""];
  const code = await quota({
    budget,
    used,
    load,
    configPath: folder.path,
    environment: {},
    wallNowMs: Date.now(),
    rewrite: rewriteNotes,
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  const next = opened(await openStateStore(opening));
  await next.close();
  return { code, out, err, counted: quotasKept(next).rows };
}

const STATE = { state: { path: "data/pacewatch.db" } };
const IN_EUR: Used = { amount: 3.2, currency: "EUR" };

test.each([
  ["paid", IN_EUR, "3.20 of 5.00 EUR in 30d", "money", 3_200_000_000],
  ["paid", { amount: 3.2, currency: undefined }, "3.20 of 5.00 EUR in 30d", "money", 3_200_000_000],
  ["both", IN_EUR, "3.20 of 5.00 EUR in 30d", "money", 3_200_000_000],
  ["both", { amount: 12, currency: undefined }, "12 of 50 in 30d", "requests", 12],
] as const)(
  "of budget %s, quota --used %j says what counts as used",
  async (budget, used, shown, of, requests) => {
    const { code, out, counted } = await typed(STATE, budget, used);
    expect([code, out]).toEqual([0, `budget ${budget}: ${shown} count as used, as of now\n`]);
    expect(counted).toEqual([expect.objectContaining({ budget, of, requests, unconfirmed: 0 })]);
  },
);

test.each([
  ["paid", { amount: 3, currency: "USD" }, "its spend is in EUR, received USD"],
  ["api", IN_EUR, 'budget "api" must be in the config and have a spend'],
  ["both", { amount: 1.5, currency: undefined }, "requests must be a whole number, received 1.5"],
] as const)("of budget %s, %j is refused", async (budget, used, why) => {
  const { code, err, counted } = await typed(STATE, budget, used);
  expect([code, err]).toEqual([1, `cannot set what was used: ${why}\n`]);
  expect(counted).toEqual([]);
});

test("quota --used says what counts as used", async () => {
  const { code, out, err, counted } = await typed(STATE);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toBe("budget api: 12 of 50 in 30d count as used, as of now\n");
  expect(counted).toEqual([
    expect.objectContaining({ budget: "api", of: "requests", requests: 12, unconfirmed: 0 }),
  ]);
});

test.each([
  ["a budget without a quota", STATE, "free", 'budget "free" must be in the config and have a quota'],
  ["an unknown budget", STATE, "nobody", 'budget "nobody" must be in the config and have a quota'],
  ["no state file", {}, "api", "state.path must be set: without it nothing is kept of a quota"],
])("%s is refused, and nothing is counted", async (_, changes, budget, why) => {
  const { code, err, counted } = await typed(changes, budget);
  expect([code, err]).toEqual([1, `cannot set what was used: ${why}\n`]);
  expect(counted).toEqual([]);
});
