import { expect, it } from "vitest";
import type { Report } from "../../../src/features/report/report.ts";
import { humanDuration } from "../../../src/platform/humanize.ts";
import { DAY_MS } from "../../../src/kernel/time/duration.ts";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { type Reached, type Recount, recount } from "../../support/watched-judge.ts";

/** Requests arrive some time after their slots, and the second program counts whole seconds. */
const CLOSE_MS = 2_500;

it("pages, API, badge, report and metrics tell what the upstream's ledger says was watched, over a reload and a restart", async () => {
  await using upstream = await startSimulatedUpstream({ name: "email", limits: [] });
  const config = (every: string): RawConfig => ({
    web: { badges: true },
    state: { path: "data/pacewatch.db" },
    budgets: { api: { rate: { requests: 6000, per: "1m" } } },
    upstreams: [rawUpstream("email", upstream.url, { every })],
  });
  await using folder = await openConfigFolder(config("1s"));
  let longFrom = Infinity;
  const ledger = (): readonly Reached[] =>
    upstream.seen.map(({ atMs, fault }, place) => {
      return { atMs, served: fault.kind === "none", gapMs: place < longFrom ? 1_000 : 10_000 };
    });
  const polls = (count: number): Promise<number> =>
    eventually(
      "it is polled",
      () => Promise.resolve(upstream.seen.length),
      (seen) => seen >= count,
    );

  let scrapedMs = 0;
  {
    await using daemon = await startDaemon({ configPath: folder.path });
    await polls(4);
    upstream.setFault({ kind: "status", code: 503 });
    await polls(6);
    upstream.setFault(undefined);
    await polls(8);
    await folder.write(config("10s"));
    daemon.kill("SIGHUP");
    await daemon.logged("config reloaded");
    longFrom = upstream.seen.length;
    await polls(longFrom + 1);
    const told = await agreeing(daemon, upstream.seen.length);
    expectClose(told, recount(ledger().slice(0, told.ok + told.failed), 0, Infinity));
    scrapedMs = told.scrapedMs;
    expect(scrapedMs).toBe(told.watchedMs);
  }
  await using daemon = await startDaemon({ configPath: folder.path });
  const before = upstream.seen.length;
  await polls(before + 2);
  const told = await agreeing(daemon, upstream.seen.length);
  const all = recount(ledger().slice(0, told.ok + told.failed), 0, Infinity);
  expect(told).toMatchObject({ ok: all.ok, failed: all.failed });
  expectClose(told, all);
  expect(scrapedMs + told.scrapedMs).toBe(told.watchedMs);
});

type Day = { readonly watchedMs: number; readonly failedMs: number; readonly ratio: number };
type Told = Day & { readonly ok: number; readonly failed: number; readonly scrapedMs: number };
type Seen = { readonly availability: readonly Day[] };

function expectClose(told: Told, { watchedMs, failedMs }: Recount): void {
  expect(Math.abs(told.watchedMs - watchedMs)).toBeLessThan(CLOSE_MS);
  expect(Math.abs(told.failedMs - failedMs)).toBeLessThan(CLOSE_MS);
  expect(told.failedMs).toBeGreaterThan(0);
}

/** Once at least so many polls were counted, and none between the first question and the last: what all say of the last day. */
async function agreeing(daemon: Daemon, polls: number): Promise<Told> {
  // The day may end meanwhile.
  const [yesterday, today] = [Date.now() - DAY_MS, Date.now()].map((atMs) =>
    new Date(atMs).toISOString().slice(0, 10),
  );
  const lastDay = async () => {
    const { upstream }: { upstream: Seen } = JSON.parse((await daemon.get("/api/v1/upstreams/email")).body);
    return upstream.availability[1];
  };
  const { day, report, ...shown } = await eventually(
    "all have counted the same polls",
    async () => {
      const before = await lastDay();
      const badge = (await daemon.get("/badge/email.svg?show=24h")).body;
      const page = (await daemon.get("/")).body;
      const metrics = await daemon.metrics();
      const asked = await daemon.get(`/report?from=${yesterday}&to=${today}&format=json`);
      const { upstreams }: Report = JSON.parse(asked.body);
      return { before, badge, page, metrics, report: upstreams[0], day: await lastDay() };
    },
    // Each further poll watched a while.
    ({ before, day: after, report: written }) =>
      written !== undefined &&
      written.ok + written.failed >= polls &&
      [before, after].every((each) => each?.watchedMs === written.watchedMs),
  );
  if (day === undefined || report === undefined) throw new Error("a day is one of the windows");
  const words = `of ${humanDuration(day.watchedMs)}`;
  expect(shown.badge).toContain(words);
  expect(shown.page).toContain(words);
  const { ok, failed, watchedMs, failedMs, availability } = report;
  expect({ watchedMs, failedMs, ratio: availability }).toEqual({
    watchedMs: day.watchedMs,
    failedMs: day.failedMs,
    ratio: day.ratio,
  });
  const samples = shown.metrics.get("pacewatch_upstream_watched_seconds_total")?.samples ?? [];
  const scrapedMs = Math.round(samples.reduce((sum, { value }) => sum + value, 0) * 1_000);
  return { ...day, ok, failed, scrapedMs };
}
