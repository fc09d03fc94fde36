import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeReport } from "../../../src/features/report/reporting.ts";
import type { BadUnit, Sla } from "../../../src/features/report/config.ts";
import { askedFor } from "../../../src/features/report/period.ts";
import { type Report, reportedOf, type UpstreamReport } from "../../../src/features/report/report.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/kernel/time/duration.ts";
import { sampleSchedule, sampleUpstream } from "../../support/kernel-samples.ts";
import { type Reached, recountOf } from "../../support/watched-judge.ts";
import { type Deed, type LedgerEntry, live } from "./report-world.ts";

const at = (text: string): number => Date.parse(text);

const sla = (badUnit: BadUnit, atLeast = 0.9995): Sla => ({
  atLeast,
  unit: "minute",
  badUnit,
  credits: [
    { below: 0.9999, credit: 0.1 },
    { below: 0.9993, credit: 0.25 },
  ],
  claimWithinMs: 30 * DAY_MS,
  timeZone: "Europe/Berlin",
});

const EVERY_MS = 10 * MINUTE_MS;
const UPSTREAMS = [
  sampleUpstream({
    name: "email",
    url: "https://email.example.test/v1/resources",
    schedule: sampleSchedule(EVERY_MS),
    sla: sla("all_failed"),
    price: { currency: "EUR", parts: [{ kind: "request", units: 123_457 }] },
  }),
  sampleUpstream({
    name: "ai-router",
    url: "https://ai-router.example.test/v1/resources",
    schedule: sampleSchedule(EVERY_MS),
    sla: sla({ failures: 2 }),
  }),
];

/** It has a price from the handover on: 0.002 USD for 1,000 tokens, at most 0.003 USD a poll. */
const WITH_PRICE = UPSTREAMS.map((upstream) => {
  if (upstream.name !== "ai-router") return upstream;
  const tokens = {
    kind: "answer",
    of: "/usage/tokens",
    per: 1_000,
    units: 2_000_000,
    mostUnits: 3_000_000,
  } as const;
  return { ...upstream, price: { currency: "USD", parts: [tokens] } };
});

type Window = readonly [upstream: string | undefined, from: string, to: string, did: Deed];

/** Of both, where it names none. The last one is over midnight and the end of October, in Berlin as in UTC. */
const WINDOWS: readonly Window[] = [
  ["email", "2026-10-03T10:00:00Z", "2026-10-03T11:12:00Z", "error"],
  ["email", "2026-10-05T09:00:00Z", "2026-10-05T10:00:00Z", "throttled"],
  ["ai-router", "2026-10-06T00:00:00Z", "2026-10-06T02:00:00Z", "refused_key"],
  [undefined, "2026-10-08T12:00:00Z", "2026-10-08T13:00:00Z", "unreachable"],
  // The hour that comes twice in Berlin.
  ["ai-router", "2026-10-25T00:30:00Z", "2026-10-25T01:45:00Z", "hung"],
  ["email", "2026-10-31T22:10:00Z", "2026-11-01T01:20:00Z", "hung"],
];

function script(upstream: string, atMs: number): Deed {
  const window = WINDOWS.find(
    ([of, from, to]) => (of === undefined || of === upstream) && at(from) <= atMs && atMs < at(to),
  );
  // Now and then a single request fails, and the next one does not.
  if (window === undefined)
    return Math.floor(atMs / EVERY_MS) % 997 === 5 && atMs % EVERY_MS < 10_000 ? "error" : "answered";
  return window[3];
}

const NOW_MS = at("2026-11-20T12:00:00Z");
const [BEGIN, HANDOVER, STOPPED, STARTED, END] = [
  at("2026-09-28T00:00:00Z"),
  at("2026-10-12T10:07:00Z"),
  at("2026-10-20T00:00:00Z"),
  at("2026-10-21T06:00:00Z"),
  at("2026-11-02T00:00:00Z"),
] as const;

let directory: string;
let paths: readonly string[];
let ledger: readonly LedgerEntry[];

/** Two processes: the second takes over, and does not run for a day and some hours. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "pacewatch-report-"));
  const [first, second] = ["first.db", "second.db"].map((name) => join(directory, name));
  if (first === undefined || second === undefined) throw new Error("two files are needed");
  paths = [first, second];
  ledger = [
    ...live(first, UPSTREAMS, script, { fromMs: BEGIN, toMs: HANDOVER }),
    ...live(second, WITH_PRICE, script, { fromMs: HANDOVER + 2 * MINUTE_MS, toMs: STOPPED }),
    ...live(second, WITH_PRICE, script, { fromMs: STARTED, toMs: END }),
  ];
}, 120_000);

afterAll(() => rm(directory, { recursive: true, force: true }));

function reportOf(written: { month?: string; from?: string; to?: string }, format = "json" as const): Report {
  const asked = askedFor(written, NOW_MS);
  if (typeof asked === "string") throw new Error(asked);
  const upstreams = UPSTREAMS.map(reportedOf);
  return JSON.parse([...writeReport({ paths, upstreams, asked, format, nowMs: NOW_MS })].join(""));
}

test("where nobody names a month, and nothing is known of the last one, the report is of this month", () => {
  const reported = (written: { month?: string }, nowMs: number): string | undefined => {
    const asked = askedFor(written, nowMs);
    if (typeof asked === "string") throw new Error(asked);
    const question = { paths, upstreams: UPSTREAMS.map(reportedOf), asked, nowMs };
    const report: Report = JSON.parse([...writeReport({ ...question, format: "json" })].join(""));
    return report.upstreams[0]?.days[0]?.day;
  };
  const september = at("2026-09-30T12:00:00Z");
  expect(reported({}, september)).toBe("2026-09-01");
  expect(reported({ month: "2026-08" }, september)).toBe("2026-08-01");
  expect(reported({}, NOW_MS)).toBe("2026-10-01");
});

function upstreamIn(report: Report, name: string): UpstreamReport {
  const found = report.upstreams.find(({ upstream }) => upstream === name);
  if (found === undefined) throw new Error(`${name} is not in the report`);
  return found;
}

const BERLIN_DAY = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "Europe/Berlin",
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
});

/** Formatting is slow, and asked for each day again. */
const dayOf = remembered((hour: number) => BERLIN_DAY.format(hour * HOUR_MS));

function remembered(of: (hour: number) => string): (atMs: number) => string {
  const known = new Map<number, string>();
  return (atMs) => {
    const hour = Math.floor(atMs / HOUR_MS);
    const day = known.get(hour) ?? of(hour);
    known.set(hour, day);
    return day;
  };
}

/** The second computation: from the ledger alone, by the calendar of the runtime, and in no way that the report uses. */
function counted(name: string, isIn: (day: string) => boolean) {
  const entries = ledger.filter(({ upstream, endedAtMs }) => upstream === name && isIn(dayOf(endedAtMs)));
  const those = (...deeds: readonly Deed[]): readonly LedgerEntry[] =>
    entries.filter(({ did }) => deeds.includes(did));
  const minutes = new Map<number, { ok: number; failed: number }>();
  for (const { endedAtMs, did } of those("answered", "error", "hung")) {
    const minute = minutes.get(Math.floor(endedAtMs / MINUTE_MS)) ?? { ok: 0, failed: 0 };
    minute[did === "answered" ? "ok" : "failed"] += 1;
    minutes.set(Math.floor(endedAtMs / MINUTE_MS), minute);
  }
  const bad = (is: (minute: { ok: number; failed: number }) => boolean): number =>
    [...minutes.values()].filter(is).length;
  const ok = those("answered");
  return {
    ok: ok.length,
    failed: those("error", "hung").length,
    throttled: those("throttled").length,
    rejected: those("refused_key").length,
    offline: those("unreachable").length,
    watchedMinutes: minutes.size,
    allFailed: bad(({ ok, failed }) => ok === 0 && failed > 0),
    twoFailed: bad(({ failed }) => failed >= 2),
    meanMs:
      ok.length === 0
        ? undefined
        : ok.reduce((sum, { endedAtMs, sentAtMs }) => sum + endedAtMs - sentAtMs, 0) / ok.length,
  };
}

/** The second program counts whole seconds. */
const ROUNDED_MS = 5_000;

/** By each process for itself, as neither knows of the other's polls. */
function watched(name: string, isIn: (day: string) => boolean): { watchedMs: number; failedMs: number } {
  const lives = [
    ledger.filter(({ sentAtMs }) => sentAtMs < HANDOVER),
    ledger.filter(({ sentAtMs }) => sentAtMs >= HANDOVER),
  ];
  const sums = lives.map((entries) => {
    const reached = entries
      .filter(({ upstream }) => upstream === name)
      .map(({ sentAtMs, did }): Reached => {
        const served = did === "answered" ? true : did === "error" || did === "hung" ? false : undefined;
        return { atMs: sentAtMs, served, gapMs: EVERY_MS };
      });
    return recountOf(reached, (atMs) => isIn(dayOf(atMs)));
  });
  const sum = (of: "watchedMs" | "failedMs"): number => sums.reduce((all, each) => all + each[of], 0);
  return { watchedMs: sum("watchedMs"), failedMs: sum("failedMs") };
}

function expectClose(
  { watchedMs, failedMs, availability }: Pick<UpstreamReport, "watchedMs" | "failedMs" | "availability">,
  expected: { watchedMs: number; failedMs: number },
): void {
  expect(Math.abs(watchedMs - expected.watchedMs)).toBeLessThan(ROUNDED_MS);
  expect(Math.abs(failedMs - expected.failedMs)).toBeLessThan(ROUNDED_MS);
  expect(availability).toBe(watchedMs === 0 ? undefined : (watchedMs - failedMs) / watchedMs);
}

/** Runs of failures that were confirmed, from the first request of one to the first that was answered again. */
function outages(name: string): readonly { from: number; to: number; ids: readonly string[] }[] {
  const found: { from: number; to: number; ids: string[] }[] = [];
  let run: LedgerEntry[] = [];
  for (const entry of ledger.filter(({ upstream }) => upstream === name)) {
    if (entry.did === "error" || entry.did === "hung") run.push(entry);
    if (entry.did !== "answered") continue;
    const [first, second] = run;
    const last = run.at(-1);
    if (first !== undefined && second !== undefined && last !== undefined)
      found.push({
        from: first.sentAtMs,
        to: entry.endedAtMs,
        ids: [...new Set([first, second, last])].map(({ requestId }) => requestId),
      });
    run = [];
  }
  return found;
}

describe("a report of October in Berlin, with a change of the clock, a handover and a day without watching", () => {
  test.each(["email", "ai-router"])(
    "says of %s what the upstream's own ledger says, in every figure",
    (name) => {
      const report = upstreamIn(reportOf({ month: "2026-10" }), name);
      const expected = counted(name, (day) => day.startsWith("2026-10"));
      expect(report).toMatchObject({
        fromMs: at("2026-09-30T22:00:00Z"),
        toMs: at("2026-10-31T23:00:00Z"),
        lengthMs: (31 * 24 + 1) * HOUR_MS,
        timeZone: "Europe/Berlin",
        ok: expected.ok,
        failed: expected.failed,
        throttled: expected.throttled,
        rejected: expected.rejected,
        offline: expected.offline,
        otherOurs: 0,
        watchedMinutes: expected.watchedMinutes,
        withinObjective: expected.ok,
        slowestMs: 120,
      });
      expect(report.meanMs).toBeCloseTo(expected.meanMs ?? 0, 6);
      expectClose(
        report,
        watched(name, (day) => day.startsWith("2026-10")),
      );
      expect(report.failedMs).toBeGreaterThan(MINUTE_MS);
      expect(expected.throttled + expected.rejected).toBeGreaterThan(5);
      expect(expected.offline).toBeGreaterThan(5);
    },
  );

  test.each(["email", "ai-router"])(
    "of %s each day is what the ledger says of it: of 25 hours, unwatched, or as any other",
    (name) => {
      const { days } = upstreamIn(reportOf({ month: "2026-10" }), name);
      expect(days.map(({ day }) => day)).toEqual(
        Array.from({ length: 31 }, (_, day) => `2026-10-${String(day + 1).padStart(2, "0")}`),
      );
      for (const day of days) {
        const expected = counted(name, (other) => other === day.day);
        const { ok, failed, throttled, rejected, offline, watchedMinutes } = expected;
        expect(day).toMatchObject({ ok, failed, throttled, rejected, offline, watchedMinutes });
        expect(day.badMinutes).toBe(name === "email" ? expected.allFailed : expected.twoFailed);
        expectClose(
          day,
          watched(name, (other) => other === day.day),
        );
      }
      const lengths = Object.fromEntries(
        days.map(({ day, fromMs, toMs }) => [day, (toMs - fromMs) / HOUR_MS]),
      );
      expect(lengths).toMatchObject({ "2026-10-24": 24, "2026-10-25": 25, "2026-10-26": 24 });
      const unwatched = days.find(({ day }) => day === "2026-10-20");
      // Berlin's day begins two hours before the process ended.
      expect(unwatched?.watchedMs).toBeLessThanOrEqual(2 * HOUR_MS);
    },
  );

  test("counts bad minutes as the provider does, and what nobody watched as good", () => {
    const report = reportOf({ month: "2026-10" });
    const minutes = (31 * 24 + 1) * 60;
    for (const name of ["email", "ai-router"]) {
      const { months, sla: terms } = upstreamIn(report, name);
      const { allFailed, twoFailed, watchedMinutes } = counted(name, (day) => day.startsWith("2026-10"));
      const badMinutes = name === "email" ? allFailed : twoFailed;
      const availability = 1 - badMinutes / minutes;
      expect(months).toEqual([
        {
          month: "2026-10",
          fromMs: at("2026-09-30T22:00:00Z"),
          toMs: at("2026-10-31T23:00:00Z"),
          isWhole: true,
          isOver: true,
          minutes,
          watchedMinutes,
          badMinutes,
          availability,
          availabilityOfWatched: 1 - badMinutes / watchedMinutes,
          isKept: availability >= (terms?.atLeast ?? 0),
          ...(availability < 0.9999 && {
            credit: availability < 0.9993 ? 0.25 : 0.1,
            claimUntilMs: at("2026-10-31T23:00:00Z") + 30 * DAY_MS,
          }),
        },
      ]);
      expect(badMinutes).toBeGreaterThan(0);
    }
  });

  test("has each outage from its first failed request to the first answer, with the provider's own request ids", () => {
    for (const name of ["email", "ai-router"]) {
      const [from, to] = [at("2026-09-30T22:00:00Z"), at("2026-10-31T23:00:00Z")];
      const expected = outages(name).filter((outage) => outage.to >= from && outage.from < to);
      const { incidents } = upstreamIn(reportOf({ month: "2026-10" }), name);
      const told = incidents.filter(({ isOutage }) => isOutage);
      expect(told.map(({ fromMs, toMs }) => ({ from: fromMs, to: toMs }))).toEqual(
        expected.map(({ from, to }) => ({ from, to })),
      );
      expect(told.length).toBeGreaterThan(0);
      for (const [place, { durationMs, inPeriodMs, evidence }] of told.entries()) {
        const outage = expected[place];
        if (outage === undefined) throw new Error("an outage too many");
        expect(durationMs).toBe(outage.to - outage.from);
        expect(inPeriodMs).toBe(Math.min(outage.to, to) - Math.max(outage.from, from));
        const withStatus = outage.ids.filter((id) =>
          ledger.some(({ requestId, did }) => requestId === id && did === "error"),
        );
        const ids = evidence.flatMap(({ headers = [] }) => headers.flatMap(({ value }) => value ?? []));
        expect(ids).toEqual(withStatus);
      }
    }
  });

  test("leaves out what says nothing of the upstream: throttled, our key, our own network", () => {
    const report = reportOf({ month: "2026-10" });
    const left = (name: string): readonly string[] =>
      upstreamIn(report, name).incidents.flatMap(({ isOutage, state, reason }) =>
        isOutage ? [] : [`${state} ${reason}`],
      );
    expect(left("email")).toEqual(["throttled rate", "down offline"]);
    expect(left("ai-router")).toEqual(["unauthorized unauthorized", "down offline"]);
  });
});

test("what the polls cost is what the upstreams' own ledgers come to, by month and currency", () => {
  const report = reportOf({ from: "2026-10-01", to: "2026-11-20" });
  const months = ["2026-10", "2026-11"];
  const sentIn = (name: string, month: string): readonly LedgerEntry[] =>
    ledger.filter(
      ({ upstream, endedAtMs, did }) =>
        upstream === name && did !== "unreachable" && dayOf(endedAtMs).startsWith(month),
    );
  // In billionths, so that this sum is exact too.
  const perRequest = months.map((month) => {
    const { length } = sentIn("email", month);
    return { month, currency: "EUR", polls: length, amount: (length * 123_457) / 1e9 };
  });
  expect(upstreamIn(report, "email").costs).toEqual(perRequest);
  const byTokens = months.map((month) => {
    const sent = sentIn("ai-router", month).filter(({ sentAtMs }) => sentAtMs >= HANDOVER);
    const bill = sent.reduce(
      (sum, { tokens }) => sum + (tokens === undefined ? 3_000_000 : tokens * 2_000),
      0,
    );
    return { month, currency: "USD", polls: sent.length, amount: bill / 1e9 };
  });
  expect(upstreamIn(report, "ai-router").costs).toEqual(byTokens);
  for (const { polls, amount } of [...perRequest, ...byTokens])
    expect(Math.min(polls, amount)).toBeGreaterThan(0);
});

test("an outage over the end of a month is in both months, whole, each with its own part", () => {
  const [october, november] = [reportOf({ month: "2026-10" }), reportOf({ month: "2026-11" })].map((report) =>
    upstreamIn(report, "email").incidents.at(
      0 + (report.upstreams[0]?.days[0]?.day === "2026-11-01" ? 0 : -1),
    ),
  );
  if (october === undefined || november === undefined) throw new Error("it is missing");
  expect(october.fromMs).toBe(at("2026-10-31T22:10:00Z"));
  expect({ from: november.fromMs, to: november.toMs }).toEqual({ from: october.fromMs, to: october.toMs });
  expect(october.inPeriodMs).toBe(50 * MINUTE_MS);
  expect(october.inPeriodMs + november.inPeriodMs).toBe(october.durationMs);
});

test("a month that is not over, or of which days are left out, has no credit", () => {
  const { months } = upstreamIn(reportOf({ from: "2026-10-01", to: "2026-11-20" }), "email");
  expect(
    months.map(({ month, isWhole, isOver, credit }) => ({
      month,
      isWhole,
      isOver,
      hasCredit: credit !== undefined,
    })),
  ).toEqual([
    { month: "2026-10", isWhole: true, isOver: true, hasCredit: true },
    { month: "2026-11", isWhole: false, isOver: false, hasCredit: false },
  ]);
  const [some] = upstreamIn(reportOf({ from: "2026-10-02", to: "2026-10-31" }), "email").months;
  expect(some).toMatchObject({ isWhole: false, isOver: true });
  expect(some?.credit).toBeUndefined();
});
