import { opened } from "../../support/opened.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { openTransport } from "../../../src/transport/open.ts";
import type { Rate } from "../../../src/kernel/config/config.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import type { Poll } from "../../../src/kernel/poll/poll.ts";
import { LeaseQueue } from "../../../src/kernel/polling/lease-queue.ts";
import { Poller } from "../../../src/kernel/polling/poller.ts";
import type { Limit } from "../../../src/simulator/meters.ts";
import { seededRandom } from "../../../src/simulator/randomness.ts";
import {
  type SimulatedUpstream,
  startSimulatedUpstream,
  type UpstreamOptions,
} from "../../../src/simulator/upstream.ts";
import { openProxy } from "../../support/fleet/cuttable-proxy.ts";
import { StoryRecorder } from "../../support/fakes.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { systemNames } from "../../support/names.ts";
import { noLog } from "../../support/no-log.ts";
import { silent } from "../../support/silent.ts";

/**
 * Schedules that ask for more than the limit are refused before they start. So here slots come without any
 * schedule, as fast as they are taken: the engine, the ledger and the probes are the real ones, and so are the
 * sockets. The only judge is the upstream's own count.
 */

const POLLERS = 12;
/**
 * So small that a fresh start waits for one pace gap only. What the upstream may count is then our share, less than
 * its limit: the stricter promise.
 */
const SHARE = 0.025;

function rate({ requests, perMs }: Limit): Rate {
  return { requests: requests / SHARE, perMs, label: `${perMs}ms` };
}

export type Saturation = {
  /** Our share of the upstream's limits. */
  readonly limits: readonly Limit[];
  readonly lingerMs?: number;
  readonly timeoutMs?: number;
  readonly confirm?: number;
  readonly connection?: "fresh" | "reuse";
  /** Asked every few milliseconds, with all polls so far, the oldest first. */
  readonly isOver: (polls: readonly Poll[]) => boolean;
};

/** Every poller always has a slot waiting, but for a failure that it confirms first. */
export async function saturate(
  { url }: Pick<SimulatedUpstream, "url">,
  saturation: Saturation,
): Promise<readonly StoryRecorder[]> {
  // Longer than this machine may stand still: an upstream that counts after that is another story.
  const { timeoutMs = 10_000, confirm = 0, connection = "fresh", lingerMs = 0 } = saturation;
  const names = Array.from({ length: POLLERS }, (_, index) => `poller-${index}`);
  const upstreams = names.map((name) =>
    sampleUpstream({ name, url: `${url}/v1/resources`, timeoutMs, confirm, connection }),
  );
  const config = sampleConfig({
    budgets: [
      sampleBudget({ rates: saturation.limits.map(rate), share: SHARE, lingerMs, maxPauseMs: 2_000 }),
    ],
    upstreams,
  });
  const bugs: unknown[] = [];
  const onBug = (error: unknown): void => void bugs.push(error);
  const ledger = new TestLedger(config, systemClock);
  const queue = new LeaseQueue(ledger.inner, systemClock, onBug);
  const parts = {
    clock: systemClock,
    ...ledger.polling,
    queue,
    nextPollId: () => "poll",
    onBug,
  };
  const crew = await Promise.all(
    upstreams.map(async (upstream) => {
      const probe = opened(
        await openTransport(
          {
            userAgent: "pacewatch/test",
            clock: systemClock,
            environment: {},
            names: systemNames,
            log: noLog,
          },
          { fields: {}, upstream, credential: undefined },
        ),
      );
      const recorder = new StoryRecorder();
      return { recorder, poller: new Poller(upstream, probe, { ...parts, recorder }) };
    }),
  );
  const polls = (): readonly Poll[] =>
    crew.flatMap(({ recorder }) => recorder.polls).toSorted((a, b) => a.endedAtMs - b.endedAtMs);
  while (!saturation.isOver(polls())) {
    for (const { poller, recorder } of crew) {
      const last = recorder.polls.at(-1);
      const isConfirming = last?.outcome.kind === "failed" && last.origin !== "confirm" && confirm > 0;
      const isBusy = recorder.waiting + recorder.inFlight > 0;
      // A slot that comes first takes the confirmation's place: leave it its time.
      const confirmsUntilMs = (last?.endedAtMs ?? 0) + 1_000;
      if (!isBusy && !(isConfirming && systemClock.wallNow() < confirmsUntilMs)) {
        poller.slot("schedule", systemClock.now());
      }
    }
    // Often enough that a slot is always waiting.
    await sleep(5);
  }
  await Promise.all(crew.map(({ poller }) => poller.stop(timeoutMs)));
  expect(bugs).toEqual([]);
  return crew.map(({ recorder }) => recorder);
}

export function expectWithinLimits(simulated: SimulatedUpstream): void {
  const exceeded = simulated.worstWindow().filter(({ limit, requests }) => requests > limit.requests);
  expect(exceeded).toEqual([]);
  expect(simulated.requests).toBeGreaterThan(20);
}

export async function upstream(options: Omit<UpstreamOptions, "name">): Promise<SimulatedUpstream> {
  return startSimulatedUpstream({ name: "saturated", dialect: silent, ...options });
}

/** Requests are late before they are counted, and answers after that: what was sent evenly arrives bunched. */
export async function unevenWayTo(
  simulated: SimulatedUpstream,
): Promise<AsyncDisposable & { readonly url: string }> {
  const way = await openProxy(Number(new URL(simulated.url).port));
  const random = seededRandom(1);
  way.delay(() => random() * 200);
  return { url: `http://127.0.0.1:${way.port}`, [Symbol.asyncDispose]: () => way[Symbol.asyncDispose]() };
}
