import { expect, test } from "vitest";
import { PROOF_PARTS } from "../../src/app/features/proof.ts";
import { detectionTable } from "../../src/commands/proof-table.ts";
import type { Config, Upstream } from "../../src/kernel/config/config.ts";
import type { PollEvent } from "../../src/kernel/poll/ports.ts";
import { Supervisor } from "../../src/kernel/polling/supervisor.ts";
import { MINUTE_MS } from "../../src/kernel/time/duration.ts";
import { detectionsOf } from "../../src/proof/detection.ts";
import { prove } from "../../src/proof/proof.ts";
import { FakeProbe } from "../support/fakes.ts";
import {
  answered,
  observed,
  sampleBudget,
  sampleConfig,
  sampleCron,
  sampleSchedule,
  sampleUpstream,
} from "../support/kernel-samples.ts";
import { TestLedger } from "../support/test-ledger.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import { virtualTriggers } from "../support/virtual/triggers.ts";

const BUDGET = sampleBudget({ rates: [{ requests: 60, perMs: 60_000, label: "1m" }], share: 0.2 });

/** Every 15 s, with a timeout of 10 s; two requests are 5 s apart. */
test.each([
  ["the first failure is enough", 0, 10_000, 0, 25_000],
  ["a confirmation that comes as soon as the pace allows", 1, 0, 5_000, 40_000],
  ["a failure that must last", 1, 10_000, 10_000, 40_000],
  ["one that must last long", 1, 60_000, 60_000, 85_000],
  ["several confirmations", 3, 10_000, 15_000, 70_000],
])(
  "an outage is known after the first poll and those that confirm it: %s",
  (_, confirm, overMs, earliest, latest) => {
    const upstream = sampleUpstream({ confirm, confirmOverMs: overMs, timeoutMs: 10_000 });
    const config = { budgets: [BUDGET], upstreams: [upstream] };
    const told = detectionsOf(config, prove(config, PROOF_PARTS), PROOF_PARTS);
    const known = { earliestMs: earliest, latestMs: latest, looksAgain: 0, overWithinMs: 15_000 };
    expect(told).toEqual([{ upstream: upstream.name, ...known }]);
  },
);

test("its end is known by the next slot, and of a slow schedule by looks between its slots", () => {
  const upstream = sampleUpstream({ schedule: sampleSchedule(600_000) });
  const config = { budgets: [BUDGET], upstreams: [upstream] };
  const [told] = detectionsOf(config, prove(config, PROOF_PARTS), PROOF_PARTS);
  expect(told).toMatchObject({ looksAgain: 16, overWithinMs: 600_000 });
  expect(told === undefined ? "" : detectionTable([told])).toContain(
    "10m, sooner by 16 looks between two slots  email",
  );
});

const BEGAN_MS = Date.UTC(2026, 10, 30, 12);
const WELL_MS = 5 * MINUTE_MS;
/** An outage that begins while a poll is answered is first seen by the next one. */
const ANSWER_MS = 50;

type Known = { readonly down?: number; readonly over?: number };

/** By upstream, how long after all of them began to hang, and after they ended to, it was known. */
async function knownAfterMs(config: Config, afterMs: number): Promise<ReadonlyMap<string, Known>> {
  const clock = new VirtualClock({ wallMs: BEGAN_MS });
  const fromMs = BEGAN_MS + WELL_MS + afterMs;
  const longestMs = Math.max(...config.upstreams.map(({ schedule }) => schedule.longestGapMs));
  const untilMs = fromMs + 2 * longestMs + 2 * MINUTE_MS + afterMs;
  const known = new Map<string, Known>();
  const { looksAgain } = prove(config, PROOF_PARTS);
  const supervisor = new Supervisor({
    clock,
    ...new TestLedger(config, clock).polling,
    triggers: virtualTriggers(clock),
    recorderOf: ({ name }) => ({
      record: (event: PollEvent) => {
        if (event.kind !== "health_changed") return;
        if (event.to === "down") known.set(name, { down: event.atMs - fromMs });
        else if (event.from === "down") known.set(name, { ...known.get(name), over: event.atMs - untilMs });
      },
    }),
    looksOf: (name) => looksAgain.get(name) ?? 0,
    nextPollId: () => "p",
    onBug: (error) => {
      throw error;
    },
  });
  const hangs = {
    kind: "broken",
    fault: "timeout",
    head: undefined,
    detail: "timed out",
    sent: true,
  } as const;
  const probeOf = ({ timeoutMs }: Upstream): FakeProbe =>
    new FakeProbe(clock, () =>
      clock.wallNow() >= fromMs && clock.wallNow() < untilMs
        ? observed(hangs, timeoutMs)
        : observed(answered(200), ANSWER_MS),
    );
  supervisor.apply(config, new Map(config.upstreams.map((upstream) => [upstream.name, probeOf(upstream)])));
  await clock.advance(untilMs - BEGAN_MS + longestMs + 2 * MINUTE_MS);
  return known;
}

function several(
  count: number,
  of: (name: string) => Partial<Upstream>,
  from: string = "u",
): readonly Upstream[] {
  return Array.from({ length: count }, (_, place) => {
    const name = `${from}${place}`;
    const usual = { url: `https://${name}.example/`, timeoutMs: 5_000, confirmOverMs: 10_000 };
    return sampleUpstream({ name, ...usual, ...of(name) });
  });
}

const HALF = sampleBudget({ share: 0.5 });
const minutely = (name: string): Partial<Upstream> => ({ schedule: sampleSchedule(MINUTE_MS, name) });

const isAfter = (atMs: number | undefined, latestMs: number): boolean =>
  !((atMs ?? Infinity) < latestMs + ANSWER_MS);

test.each<[string, Partial<Config>]>([
  ["one alone", { budgets: [HALF], upstreams: several(1, minutely) }],
  [
    "twelve of one calendar, which take turns",
    { budgets: [HALF], upstreams: several(12, () => ({ schedule: sampleCron("* * * * *") })) },
  ],
  ["twelve that are spread", { budgets: [HALF], upstreams: several(12, minutely) }],
  ["a full budget", { budgets: [HALF], upstreams: several(15, minutely) }],
  [
    "frequent ones beside rare ones that are looked at again",
    {
      budgets: [sampleBudget()],
      upstreams: [
        ...several(4, (name) => ({ schedule: sampleSchedule(20_000, name) })),
        ...several(4, (name) => ({ schedule: sampleSchedule(5 * MINUTE_MS, name) }), "rare"),
      ],
    },
  ],
  [
    "long timeouts in short periods",
    {
      budgets: [HALF],
      upstreams: [
        ...several(1, () => ({ schedule: sampleCron("*/2 * * * *"), timeoutMs: 15_000 })),
        ...several(1, () => ({ schedule: sampleCron("*/20 * * * * *"), timeoutMs: 15_000 }), "long"),
        ...several(1, () => ({ schedule: sampleCron("*/20 * * * * *"), confirm: 0 }), "short"),
        ...several(1, () => ({ schedule: sampleSchedule(20_000, "u3"), timeoutMs: 15_000 }), "spread"),
        ...several(
          1,
          () => ({ schedule: sampleCron("*/20 * * * * *"), timeoutMs: 15_000, confirm: 0 }),
          "once",
        ),
      ],
    },
  ],
  [
    "three confirmations that must last",
    {
      budgets: [sampleBudget({ share: 0.5 })],
      upstreams: several(4, () => ({ schedule: sampleCron("* * * * *"), confirm: 3, confirmOverMs: 30_000 })),
    },
  ],
  [
    "some who draw on two budgets",
    {
      budgets: [HALF, sampleBudget({ name: "account", share: 0.5 })],
      upstreams: [
        ...several(5, () => ({ schedule: sampleCron("* * * * *"), budgets: ["api", "account"] })),
        ...several(5, () => ({ schedule: sampleCron("* * * * *") }), "api"),
        ...several(5, () => ({ schedule: sampleCron("* * * * *"), budgets: ["account"] }), "account"),
      ],
    },
  ],
])("no outage is known later than that, nor its end: of %s", async (_, changes) => {
  const config = sampleConfig(changes);
  const claimed = detectionsOf(config, prove(config, PROOF_PARTS), PROOF_PARTS);
  const moments = 6;
  for (let moment = 0; moment < moments; moment += 1) {
    const known = await knownAfterMs(config, ((moment + 0.5) / moments) * MINUTE_MS);
    const late = claimed.filter(({ upstream, latestMs, overWithinMs }) => {
      const { down, over } = known.get(upstream) ?? {};
      return isAfter(down, latestMs) || isAfter(over, overWithinMs);
    });
    expect(late).toEqual([]);
  }
});
