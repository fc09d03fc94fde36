import { expect, test } from "vitest";
import type { Columns, Range } from "../../../src/features/history/timeline.ts";
import { DAY_MS } from "../../../src/kernel/time/duration.ts";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import { sampleRoutesDeps, sampleStatus, sampleUpstreamStatus } from "../../support/samples.ts";

const NOW_MS = Date.parse("2026-11-24T12:00:00Z");
const day = (text: string): number => Date.parse(`${text}T00:00:00Z`) / DAY_MS;

const counts = (ok: number, failed: number) => ({ ok, failed, throttled: 5, rejected: 0, ours: 0 });
const DAYS: Columns = {
  columnMs: DAY_MS,
  areQuantiles: false,
  columns: [
    { index: day("2026-08-27"), counts: counts(100, 0), watchedMs: DAY_MS, failedMs: 0, latency: undefined },
    {
      index: day("2026-11-01"),
      counts: counts(999, 1),
      watchedMs: DAY_MS,
      failedMs: DAY_MS / 1_000,
      latency: undefined,
    },
    {
      index: day("2026-11-02"),
      counts: counts(90, 10),
      watchedMs: DAY_MS,
      failedMs: DAY_MS / 10,
      latency: undefined,
    },
    {
      index: day("2026-11-03"),
      counts: counts(80, 20),
      watchedMs: DAY_MS,
      failedMs: DAY_MS / 5,
      latency: undefined,
    },
    { index: day("2026-11-04"), counts: counts(0, 0), watchedMs: 0, failedMs: 0, latency: undefined },
    {
      index: day("2026-11-23"),
      counts: counts(20, 20),
      watchedMs: 600_000,
      failedMs: 300_000,
      latency: undefined,
    },
    {
      index: day("2026-11-24"),
      counts: counts(50, 0),
      watchedMs: 43_200_000,
      failedMs: 0,
      latency: undefined,
    },
  ],
};

type Cell = { readonly title: string; readonly kind: string; readonly href: string | undefined };

async function cells(stateStoreUp: boolean | undefined): Promise<readonly Cell[]> {
  return (await calendarOf(stateStoreUp)).cells;
}

async function calendarOf(
  stateStoreUp: boolean | undefined,
): Promise<{ readonly list: string; readonly cells: readonly Cell[] }> {
  const incident = {
    upstream: "email",
    state: "down" as const,
    reason: "timeout",
    startedAtMs: Date.parse("2026-11-02T23:00:00Z"),
    endedAtMs: Date.parse("2026-11-03T01:00:00Z"),
    polls: 9,
  };
  const status = () =>
    sampleStatus({
      nowMs: NOW_MS,
      stateStoreUp,
      upstreams: [
        sampleUpstreamStatus({ name: "email", objective: { availability: 0.99, latencyMs: 1_000 } }),
      ],
      incidents: [incident],
    });
  const asked: Range[] = [];
  const columns = (_: string, range: Range): Promise<Columns | undefined> => {
    asked.push(range);
    return Promise.resolve(range.name === "90d" ? DAYS : undefined);
  };
  const answer = await routesToAsk(sampleRoutesDeps({ status, columns })).request("/upstreams/email");
  const page = await answer.text();
  const list = /<ol class="calendar"[^>]*>(.*?)<\/ol>/s.exec(page)?.[1] ?? "";
  const found = [...list.matchAll(/<li class="day-(\d)" title="([^"]*)">(.*?)<\/li>/gs)].map(
    ([, weekday, title = "", inside = ""]) => {
      expect(new Date(title.slice(0, 10)).getUTCDay()).toBe(Number(weekday));
      // What a screen reader says is what hovering shows.
      expect(inside).toContain(`aria-label="${title}"`);
      return {
        title,
        kind: /class="day (\w+)"/.exec(inside)?.[1] ?? "",
        href: /href="([^"]*)"/.exec(inside)?.[1],
      };
    },
  );
  return { list, cells: found };
}

test("ninety days are a cell each, told by words, shape and colour, and lead to what happened on them", async () => {
  const all = await cells(true);
  expect(all).toHaveLength(90);
  expect(all.at(-1)?.title).toBe("2026-11-24: 100 % of 12 h, all of it ok");
  const of = (name: string) => all.find(({ title }) => title.startsWith(name));
  expect(of("2026-08-27")).toEqual({
    title: "2026-08-27: 100 %, all of it ok",
    kind: "fine",
    href: undefined,
  });
  expect(of("2026-11-01")).toEqual({
    title: "2026-11-01: 99.9 %, failed for 1 min 26 s",
    kind: "some",
    href: "../report?upstream=email&amp;from=2026-11-01&amp;to=2026-11-01",
  });
  const incident = `#incident-${Date.parse("2026-11-02T23:00:00Z")}`;
  expect(of("2026-11-02")).toEqual({
    title: "2026-11-02: 90 %, failed for 2 h 24 min",
    kind: "bad",
    href: incident,
  });
  expect(of("2026-11-03")?.href).toBe(incident);
  expect(of("2026-11-04")).toEqual({ title: "2026-11-04: not watched", kind: "unwatched", href: undefined });
  expect(of("2026-11-05")?.kind).toBe("unwatched");
  // Ten minutes are no day: neither met nor missed.
  expect(of("2026-11-23")).toMatchObject({
    title: "2026-11-23: 50 % of 10 min, failed for 5 min",
    kind: "early",
  });
});

test("months stand above the weeks in which they begin, and weekdays before theirs, for eyes alone", async () => {
  const { list } = await calendarOf(true);
  const labels = [...list.matchAll(/<li class="label ([\w-]+)" aria-hidden="true">(\w*)<\/li>/g)];
  expect(labels.slice(0, 3).map(([, place, words]) => [place, words])).toEqual([
    ["day-1", "Mon"],
    ["day-3", "Wed"],
    ["day-5", "Fri"],
  ]);
  // 2026-08-27 is a Thursday; 1 September a Tuesday, 1 October a Thursday, 1 November a Sunday.
  const months = labels.slice(3).map(([, , words]) => words);
  expect(months).toEqual(["", "Sep", "", "", "", "Oct", "", "", "", "Nov", "", "", "", ""]);
});

test("without a state file there is no report to lead to", async () => {
  const all = await cells(undefined);
  expect(all.filter(({ href }) => href?.includes("report"))).toEqual([]);
});
