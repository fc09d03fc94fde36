/**
 * docs/signals.md has a table of which short outages are told, and how soon. It is computed in virtual time; here a running
 * Prometheus with the rules that ship scrapes the real program, and outages happen as long as they last.
 */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { type Fault, HEALTHY, type ScriptEntry } from "../../../src/simulator/faults.ts";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { nextSlotAtMs, startDaemon } from "../../support/processes/daemon.ts";
import { type Monitoring, startMonitoring } from "../../../tools/stack/monitoring.ts";
import { rulesFor, valueOf } from "./watching.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");

/** Of scrapes and of rules: an alert comes at most so much later for each than Pacewatch knows it. */
const INTERVAL_S = 1;

type Trial = {
  /** Of the table. */
  readonly row: string;
  readonly lastsS: number;
  /** It begins so long before a slot, which has more than a second more or less before anything else becomes of it. */
  readonly beforeSlotS: number;
  readonly during?: Fault;
  readonly otherwise?: Fault;
};

const ERROR: Fault = { kind: "status", code: 500 };
const unavailableFor = (seconds: string): Fault => ({
  kind: "status",
  code: 503,
  headers: { "Retry-After": seconds },
});
const BESIDE_REJECTED_KEY = {
  row: "every 15s, a timeout beside a rejected key",
  during: { kind: "hang", at: "before_head" },
  otherwise: { kind: "unauthorized" },
} as const;
const FOR_2_S = { row: "every 15s, 503 with `Retry-After: 2`", during: unavailableFor("2") };
const FOR_30_S = { row: "every 15s, 503 with `Retry-After: 30`", during: unavailableFor("30") };

const TRIALS: readonly Trial[] = [
  // Whether a slot falls into these is on the edge, but not that they are told.
  { row: "every 5s", lastsS: 1, beforeSlotS: 0.5 },
  { row: "every 15s", lastsS: 1, beforeSlotS: 0.5 },
  { row: "every 5s", lastsS: 3, beforeSlotS: 1.5 },
  { row: "every 15s", lastsS: 3, beforeSlotS: 1.5 },
  { row: "every 5s", lastsS: 10, beforeSlotS: 2.5 },
  { row: "every 15s", lastsS: 10, beforeSlotS: 5 },
  { row: "every 5s", lastsS: 20, beforeSlotS: 2.5 },
  { row: "every 15s", lastsS: 20, beforeSlotS: 5 },
  { row: "every 15s", lastsS: 20, beforeSlotS: 13 },
  { ...FOR_2_S, lastsS: 3, beforeSlotS: 1.5 },
  { ...FOR_2_S, lastsS: 20, beforeSlotS: 5 },
  { ...FOR_30_S, lastsS: 10, beforeSlotS: 5 },
  { ...BESIDE_REJECTED_KEY, lastsS: 3, beforeSlotS: 1.5 },
  { ...BESIDE_REJECTED_KEY, lastsS: 20, beforeSlotS: 5 },
];

function wordsFor({ row, lastsS, beforeSlotS }: Trial): string {
  return `${row}: ${lastsS} s, from ${beforeSlotS} s before a slot on`;
}

function periodSOf({ row }: Trial): number {
  return Number(/^every (\d+)s/.exec(row)?.[1]);
}

/** `65 %, after 10 to 20 s`: of all moments between two slots. */
type Cell = { readonly toldOf: number; readonly fromS: number; readonly toS: number };

/** By row, then by how long the outage lasts: as Pacewatch knows it. */
function tableOfSignals(): ReadonlyMap<string, readonly string[]> {
  const page = readFileSync(new URL("../../../docs/signals.md", import.meta.url), "utf8");
  const [table = ""] = page.slice(page.indexOf("## Short outages")).match(/(?:^\|.*\n)+/gm) ?? [];
  const rows = table.trim().split("\n");
  return new Map(
    rows
      .map((row) => row.split("|").map((cell) => cell.trim()))
      .map(([, name = "", ...cells]) => [name, cells]),
  );
}

function cellOf({ row, lastsS }: Trial, table: ReadonlyMap<string, readonly string[]>): Cell {
  const text = table.get(row)?.[table.get("")?.indexOf(`${lastsS} s`) ?? -1];
  if (text === "never") return { toldOf: 0, fromS: 0, toS: 0 };
  const [, often, percent, fromS, toS] = /^(always|(\d+) %), after (\d+) to (\d+) s$/.exec(text ?? "") ?? [];
  if (often === undefined) throw new Error(`docs/signals.md must have ${lastsS} s of "${row}", has ${text}`);
  return {
    toldOf: percent === undefined ? 1 : Number(percent) / 100,
    fromS: Number(fromS),
    toS: Number(toS),
  };
}

/** An outage is told where its first failure comes soon enough. */
function expectedOf(trial: Trial, cell: Cell): "told" | "not told" {
  return trial.beforeSlotS / periodSOf(trial) < cell.toldOf ? "told" : "not told";
}

/** When PacewatchUpstreamDown fired first, by upstream, by the wall clock. */
async function firedAtS({ prometheusUrl }: Monitoring): Promise<ReadonlyMap<string, number>> {
  const query = `ALERTS{alertname="PacewatchUpstreamDown",alertstate="firing"}[10m]`;
  const answer = await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(query)}`);
  type Series = {
    readonly metric: { readonly upstream: string };
    readonly values: readonly [number, string][];
  };
  const { data } = (await answer.json()) as { readonly data: { readonly result: readonly Series[] } };
  return new Map(data.result.map(({ metric, values }) => [metric.upstream, values[0]?.[0] ?? Number.NaN]));
}

test.skipIf(prometheus === undefined || alertmanager === undefined)(
  "a running Prometheus tells those short outages that the page of signals says are told, as soon as it says",
  { timeout: 300_000 },
  async () => {
    await using world = new AsyncDisposableStack();
    const upstreams = await Promise.all(
      TRIALS.map(async (trial, index) => {
        // The first that holds is meant.
        const entries: ScriptEntry[] = [
          { fromMs: 0, untilMs: Infinity, fault: trial.otherwise ?? HEALTHY, words: "" },
        ];
        const script = { periodMs: Infinity, entries };
        const name = `trial-${index}`;
        return { trial, name, entries, simulated: world.use(await startSimulatedUpstream({ name, script })) };
      }),
    );
    const config = {
      web: { listen: "127.0.0.1:0" },
      budgets: Object.fromEntries(
        upstreams.map(({ name }) => [name, { rate: { requests: 10, per: "1s" }, share: "50%" }]),
      ),
      upstreams: upstreams.map(({ name, trial, simulated }) => ({
        name,
        base_url: simulated.url,
        auth: { none: true },
        budget: name,
        every: `${periodSOf(trial)}s`,
      })),
    };
    const folder = world.use(await openConfigFolder(config));
    const daemon = world.use(await startDaemon({ configPath: folder.path }));
    const monitoring = world.use(
      await startMonitoring({
        prometheus: prometheus ?? "",
        alertmanager: alertmanager ?? "",
        target: new URL(daemon.url).host,
        rules: await rulesFor(stringify(config)),
        intervalS: INTERVAL_S,
      }),
    );
    const seen = (what: string, query: string, count: number): Promise<number | undefined> =>
      eventually(
        what,
        () => valueOf(monitoring, `sum(${query})`),
        (value) => value === count,
      );
    const rejected = TRIALS.filter(({ otherwise }) => otherwise?.kind === "unauthorized").length;
    await seen(
      "those whose key is rejected are known",
      `pacewatch_upstream_state{state="unauthorized"}`,
      rejected,
    );
    await seen("the others are up", `pacewatch_upstream_state{state="up"}`, TRIALS.length - rejected);

    const began = await Promise.all(
      upstreams.map(async ({ trial, name, entries, simulated }) => {
        const { lastsS, beforeSlotS, during = ERROR } = trial;
        const nextMs = await nextSlotAtMs(daemon, name);
        const isSoon = nextMs - beforeSlotS * 1_000 < Date.now() + 1_000;
        const slotMs = isSoon ? nextMs + periodSOf(trial) * 1_000 : nextMs;
        const atMs = slotMs - beforeSlotS * 1_000;
        const fromMs = simulated.elapsedMs + atMs - Date.now();
        const untilMs = fromMs + lastsS * 1_000;
        entries.unshift({ fromMs, untilMs, fault: during, words: "" });
        return { trial, name, atMs, untilMs, simulated };
      }),
    );
    await eventually("all outages are over", () =>
      began.every(({ simulated, untilMs }) => simulated.elapsedMs > untilMs),
    );
    await eventually("each was asked after its outage", () =>
      began.every(({ simulated, untilMs }) => (simulated.seen.at(-1)?.atMs ?? 0) > untilMs),
    );
    await seen("none is down any more", `pacewatch_upstream_state{state="down"} or vector(0)`, 0);

    const table = tableOfSignals();
    const firedS = await firedAtS(monitoring);
    const tookS = (name: string, atMs: number): number => (firedS.get(name) ?? Number.NaN) - atMs / 1_000;
    expect(
      began.map(({ name, trial }) => `${wordsFor(trial)}: ${firedS.has(name) ? "told" : "not told"}`),
    ).toEqual(began.map(({ trial }) => `${wordsFor(trial)}: ${expectedOf(trial, cellOf(trial, table))}`));
    for (const { name, trial, atMs } of began) {
      const { fromS, toS } = cellOf(trial, table);
      if (!firedS.has(name)) continue;
      expect(tookS(name, atMs)).toBeGreaterThanOrEqual(fromS);
      expect(tookS(name, atMs)).toBeLessThanOrEqual(toS + 2 * INTERVAL_S);
    }
  },
);
