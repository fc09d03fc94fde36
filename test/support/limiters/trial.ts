/**
 * Two minutes with each limiter: three upstreams of one budget, with a config that is right and with one that allows ten
 * times too much; and for one minute a prober that knows of no limit. All limiters at the same time, in one daemon.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { openConfigFolder, rawUpstream } from "../config-folder.ts";
import { ask } from "../http-ask.ts";
import { startDaemon } from "../processes/daemon.ts";
import type { Allowance, Answers, Limiter, OpenLimiter } from "./limiter.ts";

export type Row = {
  readonly limiter: Limiter;
  readonly honest: Answers;
  /** Of the first minute, and of the second. */
  readonly mistaken: readonly [Answers, Answers];
  readonly unaware: Answers;
  /** What the daemon says that it knows of the limit, in the mistaken config. */
  readonly known: readonly string[];
};

const ALLOWANCE: Allowance = { requests: 10, perMs: 10_000 };
const MINUTE_MS = 60_000;
const POLLERS = 3;

/** Three once in four seconds are 9 in any ten; three a second are 30. */
const CONFIGS = {
  honest: { requests: ALLOWANCE.requests, every: "4s" },
  mistaken: { requests: ALLOWANCE.requests * 10, every: "1s" },
} as const;

type Kind = keyof typeof CONFIGS;

type Stage = {
  readonly limiter: Limiter;
  readonly honest: OpenLimiter;
  readonly mistaken: OpenLimiter;
  readonly unaware: OpenLimiter;
};

export async function runTrial(limiters: readonly Limiter[]): Promise<readonly Row[]> {
  await using stack = new AsyncDisposableStack();
  const stages: Stage[] = [];
  for (const limiter of limiters) {
    stages.push({
      limiter,
      honest: stack.use(await limiter.open(ALLOWANCE)),
      mistaken: stack.use(await limiter.open(ALLOWANCE)),
      unaware: stack.use(await limiter.open(ALLOWANCE)),
    });
  }
  await using folder = await openConfigFolder(configOf(stages));
  await using daemon = await startDaemon({ configPath: folder.path });
  await Promise.all(stages.map(({ unaware }) => knock(unaware.url)));
  const firstMinute = await Promise.all(stages.map(({ mistaken }) => mistaken.answers()));
  await sleep(MINUTE_MS);
  const known = knownLimits((await daemon.get("/api/v1/upstreams")).body);
  const rows: Row[] = [];
  for (const [index, { limiter, honest, mistaken, unaware }] of stages.entries()) {
    const first = firstMinute[index] ?? { ok: 0, refused: 0 };
    const both = await mistaken.answers();
    rows.push({
      limiter,
      honest: await honest.answers(),
      mistaken: [first, { ok: both.ok - first.ok, refused: both.refused - first.refused }],
      unaware: await unaware.answers(),
      known: known.get(budgetName(index, "mistaken")) ?? [],
    });
  }
  return rows;
}

function budgetName(index: number, kind: Kind): string {
  return `${kind}-${index}`;
}

function configOf(stages: readonly Stage[]): Parameters<typeof openConfigFolder>[0] {
  const budgets: Record<string, object> = {};
  const upstreams: ReturnType<typeof rawUpstream>[] = [];
  for (const [index, stage] of stages.entries()) {
    for (const kind of ["honest", "mistaken"] as const) {
      const budget = budgetName(index, kind);
      const { requests, every } = CONFIGS[kind];
      const interval = kind === "honest" ? (stage.limiter.every ?? every) : every;
      budgets[budget] = { rate: { requests, per: `${ALLOWANCE.perMs}ms` }, share: "100%" };
      for (let poller = 0; poller < POLLERS; poller += 1) {
        upstreams.push(
          rawUpstream(`${budget}-${poller}`, stage[kind].url, { budget, every: interval, timeout: "900ms" }),
        );
      }
    }
  }
  return { budgets, upstreams };
}

/** As often as the mistaken config would, whatever is answered. */
async function knock(url: string): Promise<void> {
  const startedMs = performance.now();
  const eachMs = 1_000 / POLLERS;
  for (let index = 0; index * eachMs < MINUTE_MS; index += 1) {
    await sleep(Math.max(0, startedMs + index * eachMs - performance.now()));
    await ask(url);
  }
}

type ShownBudget = { readonly name: string; readonly limits: readonly { readonly sentence: string }[] };

function knownLimits(json: string): ReadonlyMap<string, readonly string[]> {
  const { budgets } = JSON.parse(json) as { readonly budgets: readonly ShownBudget[] };
  return new Map(budgets.map(({ name, limits }) => [name, limits.map(({ sentence }) => sentence)]));
}
