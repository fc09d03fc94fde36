import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { rulesText } from "../../../tools/rules/rules.ts";
import { looksAgain } from "../../../src/proof/looking-again.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import type { Upstream } from "../../../src/kernel/config/config.ts";
import type { Exchange, Observation } from "../../../src/kernel/exchange/exchange.ts";
import type { PollEvent } from "../../../src/kernel/poll/ports.ts";
import { slotsOf } from "../../../src/kernel/schedule/schedule.ts";
import { formatDuration, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time/duration.ts";
import { Supervisor } from "../../../src/kernel/polling/supervisor.ts";
import { markdownTable } from "../../../tools/markdown-table.ts";
import { FakeProbe } from "../../support/fakes.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import {
  answered,
  observed,
  sampleBudget,
  sampleConfig,
  sampleSchedule,
  sampleUpstream,
} from "../../support/kernel-samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { virtualTriggers } from "../../support/virtual/triggers.ts";
import { runWith } from "../promtool.ts";
import { PROOF_PARTS } from "../../../src/app/features/proof.ts";

const promtool = requireBinary("promtool");
const SIGNALS = new URL("../../../docs/signals.md", import.meta.url);

const OUTAGES_S = [1, 3, 10, 20, 60];
/** Of these it is told how soon after their end they are known to be over. */
const ENDED_S = [60, 180, 600];
const PERIODS_MS = [5_000, 15_000, MINUTE_MS, 10 * MINUTE_MS];
/** Moments between two slots at which an outage begins. */
const PHASES = 120;
/** As in the Prometheus config that ships. */
const SCRAPED_EVERY_S = 15;
/** By then a start's silence is over, and it is confirmed how each upstream is. */
const KNOWN_AFTER_MS = 3 * MINUTE_MS;
/** As long as an upstream has by default. */
const TIMEOUT_MS = 10_000;
const BEGAN_MS = Date.UTC(2026, 10, 30, 12);

type Failing = {
  readonly words: string;
  readonly during: () => Observation;
  readonly otherwise: () => Observation;
};
type Outage = {
  readonly upstream: Upstream;
  readonly failing: Failing;
  readonly lastsS: number;
  readonly fromMs: number;
};
type Change = { readonly atMs: number; readonly up: 0 | 1 };

const SERVER_ERROR = failing("", answered(500));
/** Each is tried every 15 s. */
const OTHER_FAILURES: readonly Failing[] = [
  failing("503 with `Retry-After: 2`", answered(503, [["retry-after", "2"]])),
  failing("503 with `Retry-After: 30`", answered(503, [["retry-after", "30"]])),
  {
    words: "a timeout beside a rejected key",
    during: () =>
      observed({ kind: "broken", fault: "timeout", detail: "", sent: true, head: undefined }, TIMEOUT_MS),
    otherwise: () => observed(answered(401), 50),
  },
];

function failing(words: string, exchange: Exchange): Failing {
  return { words, during: () => observed(exchange, 50), otherwise: () => observed(answered(200), 50) };
}

function outagesAt(
  periodMs: number,
  how: Failing,
  outagesS: readonly number[] = OUTAGES_S,
): readonly Outage[] {
  return outagesS.flatMap((lastsS) =>
    Array.from({ length: PHASES }, (_, phase) => {
      const name = `${lastsS}-${phase}`;
      const schedule = sampleSchedule(periodMs, name);
      const slotMs = slotsOf(schedule).next(BEGAN_MS + periodMs + KNOWN_AFTER_MS);
      const upstream = sampleUpstream({
        name,
        schedule,
        budgets: [name],
        timeoutMs: TIMEOUT_MS,
        confirm: 1,
        confirmOverMs: 10_000,
      });
      return { upstream, failing: how, lastsS, fromMs: slotMs + ((phase + 0.5) / PHASES) * periodMs };
    }),
  );
}

/** What the pollers say of each upstream, over time. */
async function seen(
  outages: readonly Outage[],
  forMs: number,
): Promise<ReadonlyMap<string, readonly Change[]>> {
  const clock = new VirtualClock({ wallMs: BEGAN_MS });
  const upstreams = outages.map(({ upstream }) => upstream);
  const budgets = upstreams.map(({ name }) => sampleBudget({ name }));
  const config = sampleConfig({ budgets, upstreams });
  const changes = new Map<string, Change[]>(upstreams.map(({ name }) => [name, []]));
  const looks = looksAgain(config, PROOF_PARTS);
  const supervisor = new Supervisor({
    clock,
    ...new TestLedger(config, clock).polling,
    triggers: virtualTriggers(clock),
    recorderOf: ({ name }) => ({
      record: (event: PollEvent) => {
        if (event.kind !== "health_changed") return;
        changes.get(name)?.push({ atMs: event.atMs, up: event.to === "down" ? 0 : 1 });
      },
    }),
    looksOf: (name) => looks.get(name) ?? 0,
    nextPollId: () => "p",
    onBug: (error) => {
      throw error;
    },
  });
  const probes = outages.map(({ upstream, failing: { during, otherwise }, fromMs, lastsS }) => {
    const isDown = (): boolean => clock.wallNow() >= fromMs && clock.wallNow() < fromMs + lastsS * SECOND_MS;
    return [upstream.name, new FakeProbe(clock, () => (isDown() ? during() : otherwise()))] as const;
  });
  supervisor.apply(config, new Map(probes));
  await clock.advance(forMs);
  return changes;
}

/** When the alert fires first, in seconds since the beginning, as promtool evaluates what Prometheus has scraped. */
function firstFired(
  changes: ReadonlyMap<string, readonly Change[]>,
  forMs: number,
): ReadonlyMap<string, number> {
  const lengthS = Math.ceil(forMs / SECOND_MS);
  const series = [...changes].map(([name, told], index) => {
    const offsetS = (index * 7) % SCRAPED_EVERY_S;
    const values = Array.from({ length: lengthS }, (_, nowS) => {
      const scrapedS = Math.floor((nowS - offsetS) / SCRAPED_EVERY_S) * SCRAPED_EVERY_S + offsetS;
      return told.findLast(({ atMs }) => atMs <= BEGAN_MS + scrapedS * SECOND_MS)?.up ?? "_";
    });
    return {
      series: `pacewatch_upstream_up{job="pw",instance="pw:1",upstream="${name}"}`,
      values: values.join(" "),
    };
  });
  const fired = `timestamp(ALERTS{alertname="PacewatchUpstreamDown",alertstate="firing"})`;
  const tests = {
    rule_files: ["rules.yml"],
    evaluation_interval: `${SCRAPED_EVERY_S}s`,
    tests: [
      {
        interval: "1s",
        input_series: series,
        promql_expr_test: [
          {
            expr: `min by (upstream) (min_over_time(${fired}[${lengthS}s:${SCRAPED_EVERY_S}s]))`,
            eval_time: `${lengthS}s`,
            // What there is instead, promtool tells.
            exp_samples: [{ labels: '{upstream="none"}', value: 0 }],
          },
        ],
      },
    ],
  };
  const files = { "rules.yml": rulesText("one"), "test.yml": stringify(tests, { lineWidth: 0 }) };
  const { output } = runWith(files, promtool ?? "", (folder) => ["test", "rules", `${folder}/test.yml`]);
  const got = /^\s*got: (.*)$/m.exec(output)?.[1];
  if (got === undefined) throw new Error(output.slice(0, 1_000));
  return new Map(
    [...got.matchAll(/\{upstream="([^"]+)"\} ([\d.E+-]+)/g)].map(([, name = "", atS]) => [name, Number(atS)]),
  );
}

/** `after 0 to 15 s` */
function overCell(outages: readonly Outage[], changes: ReadonlyMap<string, readonly Change[]>): string {
  const tookS = outages.flatMap(({ upstream, fromMs, lastsS }) => {
    const told = changes.get(upstream.name) ?? [];
    const down = told.findIndex(({ up }) => up === 0);
    const over = told[down + 1];
    return down === -1 || over === undefined ? [] : [Math.round((over.atMs - fromMs) / SECOND_MS) - lastsS];
  });
  return `after ${Math.min(...tookS)} to ${Math.max(...tookS)} s`;
}

/** `63 %, after 16 to 36 s` */
function cell(outages: readonly Outage[], toldAtS: (upstream: string) => number | undefined): string {
  const tookS = outages.flatMap(({ upstream, fromMs }) => {
    const atS = toldAtS(upstream.name);
    return atS === undefined ? [] : [Math.round(atS - (fromMs - BEGAN_MS) / SECOND_MS)];
  });
  if (tookS.length === 0) return "never";
  const share = Math.round((100 * tookS.length) / outages.length);
  const often = tookS.length === outages.length ? "always" : `${share} %`;
  return `${often}, after ${Math.min(...tookS)} to ${Math.max(...tookS)} s`;
}

test.skipIf(promtool === undefined)(
  "which outages are told, and how soon, is what the page of signals says",
  { timeout: 600_000 },
  async () => {
    const known: (readonly string[])[] = [];
    const alerted: (readonly string[])[] = [];
    const over: (readonly string[])[] = [];
    const rows = [
      ...PERIODS_MS.map((periodMs) => ({ periodMs, how: SERVER_ERROR })),
      ...OTHER_FAILURES.map((how) => ({ periodMs: 15_000, how })),
    ];
    for (const { periodMs, how } of rows) {
      const outages = outagesAt(periodMs, how);
      const forMs = KNOWN_AFTER_MS + 4 * periodMs + 3 * MINUTE_MS;
      const changes = await seen(outages, forMs);
      const fired = firstFired(changes, forMs);
      const row = (toldAtS: (upstream: string) => number | undefined): readonly string[] => [
        [`every ${formatDuration(periodMs)}`, how.words].filter(Boolean).join(", "),
        ...OUTAGES_S.map((wanted) =>
          cell(
            outages.filter(({ lastsS }) => lastsS === wanted),
            toldAtS,
          ),
        ),
      ];
      known.push(
        row((name) => {
          const down = changes.get(name)?.find(({ up }) => up === 0);
          return down && (down.atMs - BEGAN_MS) / SECOND_MS;
        }),
      );
      alerted.push(row((name) => fired.get(name)));
      if (how !== SERVER_ERROR) continue;
      const ended = outagesAt(periodMs, how, ENDED_S);
      const until = await seen(ended, KNOWN_AFTER_MS + 4 * periodMs + 13 * MINUTE_MS);
      over.push([
        `every ${formatDuration(periodMs)}`,
        ...ENDED_S.map((wanted) =>
          overCell(
            ended.filter(({ lastsS }) => lastsS === wanted),
            until,
          ),
        ),
      ]);
    }
    const head = ["", ...OUTAGES_S.map((lastsS) => `${lastsS} s`)];
    const page = readFileSync(SIGNALS, "utf8")
      .split(/^## /m)
      .find((section) => section.startsWith("Short outages"));
    const tables = page?.match(/(?:^\|.*\n)+/gm);
    const ofEnds = markdownTable(["", ...ENDED_S.map((lastsS) => `${lastsS} s`)], over);
    expect(tables).toEqual([...[known, alerted].map((rows) => markdownTable(head, rows)), ofEnds]);
  },
);
