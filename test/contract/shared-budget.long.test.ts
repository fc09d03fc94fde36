import * as fc from "fast-check";
import { createClient } from "@redis/client";
import { expect, test } from "vitest";
import { ledgerScripts, RedisLedger } from "../../src/adapters/redis/ledger.ts";
import type { UpstreamSignals } from "../../src/core/budget/signals.ts";
import type { Stored, SharedMessage, SharedState, SharedTerms } from "../../src/core/fleet/ledger-store.ts";
import { SharedBudgetModel, takeOfEach } from "../models/shared-budget.ts";
import { TOLD_CLOCK } from "../support/ledger-worlds.ts";
import { REDIS_SERVER, RedisServer } from "../support/processes/redis-server.ts";

type Step =
  | { readonly kind: "take"; readonly isOfTwo: boolean }
  | {
      readonly kind: "settle";
      readonly which: number;
      readonly as: "unsent" | "answered" | "unanswered";
      readonly agoMs: number;
    }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "heed"; readonly messages: readonly SharedMessage[] }
  | { readonly kind: "look"; readonly isAnew: boolean }
  | {
      readonly kind: "reportUsage";
      readonly batch: string;
      readonly hoursAgo: number;
      readonly requests: number;
    }
  | { readonly kind: "restart" }
  | { readonly kind: "config"; readonly which: number };

const ms = fc.double({ min: 0, max: 8_000, noNaN: true }).map((value) => Math.round(value * 1_000) / 1_000);
const shortMs = fc
  .double({ min: 0, max: 300, noNaN: true })
  .map((value) => Math.round(value * 1_000) / 1_000);
const maybe = (arbitrary: fc.Arbitrary<number>): fc.Arbitrary<number | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const lowered = fc.record({
  perMs: fc.constantFrom(1_000, 5_000),
  requests: fc.integer({ min: 0, max: 30 }),
});

const signals: fc.Arbitrary<UpstreamSignals> = fc.record({
  isThrottled: fc.boolean(),
  pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000 })),
  lowered: fc.oneof(
    fc.array(lowered, { maxLength: 3 }),
    // Many different limits at once, each less strict than those before.
    fc.constant(Array.from({ length: 10 }, (_, index) => ({ perMs: 5_000, requests: index + 3 }))),
  ),
  advertised: fc.option(fc.record({ limit: maybe(fc.nat(99)), remaining: maybe(fc.nat(99)) }), {
    nil: undefined,
  }),
  yieldMs: maybe(fc.nat(2_000)),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("take" as const), isOfTwo: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat(40),
      as: fc.constantFrom("unsent" as const, "answered" as const, "unanswered" as const),
      agoMs: fc.oneof(fc.constant(0), ms),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: shortMs }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(0.7, 1.5, 2.5) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(-50_000, -2_000, -500, 5_000_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("heed" as const),
      messages: fc.array(
        fc.oneof(
          fc.record({
            kind: fc.constant("signalled" as const),
            signals,
            agoMs: fc.oneof(fc.constant(0), ms),
          }),
          fc.record({ kind: fc.constant("resumed" as const), agoMs: fc.oneof(fc.constant(0), ms) }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("look" as const), isAnew: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("reportUsage" as const),
      batch: fc.constantFrom("a", "b", "c"),
      hoursAgo: fc.nat(4),
      requests: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("config" as const), which: fc.nat(4) }) },
);

const PLAIN: SharedTerms = {
  replica: "one",
  budget: "api",
  rates: [
    { perMs: 1_000, cap: 4, aside: 2, own: 1 },
    { perMs: 5_000, cap: 12, aside: 3, own: 2 },
  ],
  share: 0.7,
  maxPauseMs: 2_500,
  lingerMs: 100,
  holdMs: 700,
  quota: { requests: 9, perMs: 7_200_000 },
};

/** As configs differ while they are rolled out. */
const CONFIGS: readonly SharedTerms[] = [
  PLAIN,
  // It leaves, and needs its reserve no more.
  { ...PLAIN, rates: PLAIN.rates.map((rate) => ({ ...rate, own: 0 })) },
  { ...PLAIN, replica: "two", quota: undefined },
  { ...PLAIN, replica: "three", rates: [{ perMs: 3, cap: 3, aside: 0, own: 0 }], lingerMs: 0 },
  {
    ...PLAIN,
    replica: "four",
    rates: [{ perMs: 8_000, cap: 20, aside: 5, own: 4 }],
    lingerMs: 150,
    holdMs: 900,
  },
];

/** Another budget, with other limits. */
function accountOf(terms: SharedTerms): SharedTerms {
  const rates = terms.rates.map((rate) => ({ ...rate, cap: rate.cap + 1 }));
  return { ...terms, budget: "account", rates, quota: undefined };
}

/** Past the cold start of both. */
const WARM: readonly Step[] = [
  { kind: "take", isOfTwo: true },
  { kind: "wait", ms: 6_000 },
];

function answerOf<Answer>(stored: Stored<Answer>): Answer {
  if (stored.kind === "away") throw new Error("it must answer");
  return stored.answer;
}

/** Numbers are written in two ways: only what they say counts. */
function comparable(standing: SharedState): unknown {
  const [run = "", born = ""] = standing.epoch.split("-");
  return { ...standing, epoch: [run, Number(born)] };
}

test.skipIf(REDIS_SERVER === undefined)(
  "whatever happens to a shared budget, Redis and the rule on paper say the same, to the last digit",
  async () => {
    await using server = await RedisServer.start();
    const client = createClient({ RESP: 2, socket: { host: "127.0.0.1", port: server.port } });
    await client.connect();
    const runner = {
      run: async (
        { body }: { readonly body: string },
        keys: readonly string[],
        args: readonly (string | number)[],
      ) => {
        const value: unknown = await client.eval(body, { keys: [...keys], arguments: args.map(String) });
        return { kind: "reply" as const, value };
      },
      onChange: () => {},
    };
    const onRedis = new RedisLedger(runner, "test", ledgerScripts(TOLD_CLOCK));
    try {
      const seen = new Set<string>();
      await fc.assert(
        fc.asyncProperty(fc.nat(3), fc.array(step, { minLength: 5, maxLength: 60 }), async (first, steps) => {
          await client.flushAll();
          const onPaper = new SharedBudgetModel();
          const account = new SharedBudgetModel();
          const modelOf = ({ budget }: SharedTerms): SharedBudgetModel =>
            budget === "account" ? account : onPaper;
          let nowMs = 1_795_000_000_000;
          let life = 1;
          let terms = CONFIGS[first] ?? PLAIN;
          const granted: string[] = [];
          for (const [index, step] of [...WARM, ...steps].entries()) {
            const at = { nowMs, run: `life${life}` };
            await client.set("clock", `${nowMs} ${at.run}`);
            const same = (real: Stored<SharedState>, paper: SharedState): void =>
              expect(comparable(answerOf(real))).toEqual(comparable(paper));
            switch (step.kind) {
              case "take": {
                const lease = `lease${index}`;
                // Together with another budget, which is free, paused or full by chance too.
                const asked = step.isOfTwo ? [terms, accountOf(terms)] : [terms];
                const paper = takeOfEach(asked, modelOf, lease, at);
                const real = answerOf(await onRedis.take(asked, lease));
                for (const [index, state] of real.states.entries())
                  same({ kind: "answered", answer: state }, paper.states[index] ?? state);
                if (JSON.stringify(real.waits) !== JSON.stringify(paper.waits))
                  throw new Error(`${JSON.stringify(real.waits)} must be ${JSON.stringify(paper.waits)}`);
                if (paper.waits.length === 0) granted.push(lease);
                if (paper.waits.length === 0) seen.add(step.isOfTwo ? "granted two" : "granted");
                for (const { cause } of paper.waits) seen.add(cause);
                break;
              }
              case "settle": {
                const lease = granted[step.which] ?? "unknown";
                const { agoMs } = step;
                const settled = {
                  kind: "settled",
                  lease,
                  settlement: step.as,
                  heldMs: agoMs / 2,
                  agoMs,
                } as const;
                for (const each of [terms, accountOf(terms)])
                  same(await onRedis.report(each, [settled]), modelOf(each).report(each, [settled], at));
                break;
              }
              case "wait":
                nowMs += step.ms;
                break;
              case "heed":
                same(await onRedis.report(terms, step.messages), onPaper.report(terms, step.messages, at));
                break;
              case "look":
                same(await onRedis.look(terms, step.isAnew), onPaper.look(terms, step.isAnew, at));
                break;
              case "reportUsage": {
                const hour = Math.floor(nowMs / 3_600_000) - step.hoursAgo;
                const contribution = { batch: step.batch, byHour: new Map([[hour, step.requests]]) };
                same(
                  await onRedis.reportUsage(terms, contribution),
                  onPaper.reportUsage(terms, contribution, at),
                );
                break;
              }
              case "restart":
                life += 1;
                break;
              case "config":
                terms = CONFIGS[step.which] ?? PLAIN;
                break;
              default:
                step satisfies never;
            }
          }
        }),
        { seed: 20261122, numRuns: 600 },
      );
      expect([...seen].sort()).toEqual(["backoff", "budget", "granted", "granted two", "ledger", "quota"]);
    } finally {
      client.destroy();
    }
  },
);
