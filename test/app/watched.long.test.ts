import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StateBuffer } from "../../src/features/state/buffer.ts";
import { StateFile } from "../../src/features/state/file.ts";
import { stateRecorder } from "../../src/features/state/recorder.ts";
import { writeReport } from "../../src/features/report/reporting.ts";
import { OK, outcomeOf, type PollOutcome } from "../../src/kernel/exchange/outcome.ts";
import { packedPolls } from "../../src/features/history/poll-ring.ts";
import { History } from "../../src/features/history/history.ts";
import { UpstreamRecord } from "../../src/features/history/upstream-record.ts";
import { askedFor } from "../../src/features/report/period.ts";
import { type Report, reportedOf } from "../../src/features/report/report.ts";
import { slotsOf, type Schedule, scheduleCron } from "../../src/kernel/schedule/schedule.ts";
import { CALENDAR, type Columns, RANGES, spanOf } from "../../src/features/history/timeline.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/kernel/time/duration.ts";
import { seededRandom } from "../../src/simulator/randomness.ts";
import { samplePoll, sampleSchedule, sampleUpstream } from "../support/kernel-samples.ts";
import { type Reached, type Recount, recount } from "../support/watched-judge.ts";

/** A Monday. */
const BEGIN_MS = Date.parse("2026-10-05T00:00:00Z");
const DAYS = 4;
const END_MS = BEGIN_MS + DAYS * DAY_MS - 7 * MINUTE_MS;
const PERIODS_MS = [10 * SECOND_MS, 15 * SECOND_MS, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS];

function officeHours(): Schedule {
  const reading = scheduleCron("*/15 8-17 * * *");
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

type Deed = { readonly outcome: PollOutcome; readonly served: boolean | undefined };
const DEEDS: readonly Deed[] = [
  { outcome: OK, served: true },
  { outcome: OK, served: true },
  { outcome: outcomeOf("server_error"), served: false },
  { outcome: outcomeOf("rate"), served: undefined },
  { outcome: outcomeOf("unauthorized"), served: undefined },
];

/**
 * The days of one upstream: reloads that change its schedule, restarts that take a moment or hours, times in which it is
 * out of the config, a clock that steps. All that is kept of it is real; the upstream writes its own ledger.
 */
class World {
  readonly ledger: Reached[] = [];
  /** What scrapes would have added up over all lives. */
  readonly scrapedMs = { ok: 0, failed: 0 };
  history: History;
  readonly #random: () => number;
  readonly #path: string;
  #schedule: Schedule;
  #record: UpstreamRecord;
  #file: StateFile;
  #buffer = new StateBuffer({ polls: Infinity });
  #aheadMs = 0;

  constructor(path: string, seed: number, schedule: Schedule) {
    this.#random = seededRandom(seed);
    this.#path = path;
    this.#schedule = schedule;
    this.#file = new StateFile(path);
    ({ history: this.history, record: this.#record } = this.#begin(BEGIN_MS));
  }

  run(steps: boolean, changes: boolean): void {
    let nowMs = BEGIN_MS;
    while (nowMs < END_MS) {
      const untilMs = Math.min(END_MS, nowMs + this.#between(MINUTE_MS, 8 * HOUR_MS));
      this.#watch(nowMs, untilMs);
      const happening = this.#random();
      nowMs = untilMs;
      if (happening < 0.3 && changes)
        this.#schedule = sampleSchedule(PERIODS_MS[this.#below(PERIODS_MS.length)] ?? MINUTE_MS);
      else if (happening < 0.6) {
        this.#end(nowMs);
        nowMs += this.#random() < 0.5 ? SECOND_MS : this.#between(MINUTE_MS, 9 * HOUR_MS);
        ({ history: this.history, record: this.#record } = this.#begin(nowMs));
      } else if (happening < 0.8) {
        const { kept, lastPolls } = this.history;
        this.#countScraped();
        nowMs += this.#between(SECOND_MS, 5 * HOUR_MS);
        ({ history: this.history, record: this.#record } = this.#recorded(
          new History("email", nowMs, { polls: packedPolls(lastPolls) }, kept),
        ));
      } else if (steps)
        this.#aheadMs += (this.#random() < 0.5 ? -1 : 1) * this.#between(SECOND_MS, 3 * HOUR_MS);
    }
    this.#end(END_MS);
  }

  columnsInFile(columnMs: number, span: { fromMs: number; toMs: number }): Columns {
    const file = new StateFile(this.#path);
    file.open(END_MS);
    const columns = file.columns({ upstream: "email", ...span, columnMs });
    file.close();
    if (columns === undefined) throw new Error("the state file must be readable");
    return columns;
  }

  /** From slot to slot, each with an outcome that lasts for some of them. */
  #watch(fromMs: number, untilMs: number): void {
    let deed = DEEDS[0];
    let slotMs = this.#nextSlot(fromMs);
    for (; slotMs < untilMs; slotMs = this.#nextSlot(slotMs)) {
      if (this.#random() < 0.05) deed = DEEDS[this.#below(DEEDS.length)];
      if (deed !== undefined && this.#random() > 0.03) this.#poll(slotMs, deed);
      if (deed?.served === false && this.#random() < 0.5) this.#poll(slotMs + 2 * SECOND_MS, deed);
    }
  }

  #poll(atMs: number, { outcome, served }: Deed): void {
    const gapMs = slotsOf(this.#schedule).usualGapMs;
    this.ledger.push({ atMs, served, gapMs });
    const sentAtMs = atMs + this.#aheadMs;
    const times = { sentAtMs, endedAtMs: sentAtMs + 120, delayMs: 0, usualGapMs: gapMs };
    const poll = samplePoll({ id: `life-${this.ledger.length.toString(36)}`, ...times, outcome });
    this.#record.record({ kind: "polled", poll });
  }

  #nextSlot(afterMs: number): number {
    return slotsOf(this.#schedule).next(afterMs + this.#aheadMs) - this.#aheadMs;
  }

  #begin(nowMs: number): { history: History; record: UpstreamRecord } {
    const opened = this.#file.open(nowMs + this.#aheadMs);
    if (opened.kind === "refused") throw new Error(opened.faults.join("; "));
    return this.#recorded(new History("email", nowMs, opened.restored.upstreams.get("email")));
  }

  #recorded(history: History): { history: History; record: UpstreamRecord } {
    const clock = { now: () => 0, wallNow: () => 0, sleep: () => Promise.resolve() };
    const state = stateRecorder("email", history, this.#buffer, clock);
    return { history, record: new UpstreamRecord(history, [state]) };
  }

  #end(nowMs: number): void {
    this.#countScraped();
    const reply = this.#file.write({ ...this.#buffer.take(Infinity), nowMs });
    if (reply.kind !== "written") throw new Error(reply.trouble.says);
    this.#file.close();
    this.#file = new StateFile(this.#path);
  }

  #countScraped(): void {
    const { ok, failed } = this.#record.accounts.watchedMs;
    this.scrapedMs.ok += ok;
    this.scrapedMs.failed += failed;
  }

  #between(leastMs: number, mostMs: number): number {
    return leastMs + SECOND_MS * this.#below((mostMs - leastMs) / SECOND_MS);
  }

  #below(most: number): number {
    return Math.floor(this.#random() * most);
  }
}

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "pacewatch-watched-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

function lived(name: string, seed: number, schedule: Schedule, steps: boolean, changes = true): World {
  const world = new World(join(directory, `${name}-${seed}.db`), seed, schedule);
  world.run(steps, changes);
  return world;
}

function reportOf(name: string, seed: number, schedule: Schedule): Report["upstreams"][number] {
  const asked = askedFor({ from: "2026-10-05", to: "2026-10-08" }, END_MS);
  if (typeof asked === "string") throw new Error(asked);
  const upstreams = [reportedOf(sampleUpstream({ name: "email", schedule }))];
  const paths = [join(directory, `${name}-${seed}.db`)];
  const text = [...writeReport({ paths, upstreams, asked, format: "json", nowMs: END_MS })].join("");
  const report: Report = JSON.parse(text);
  const [first] = report.upstreams;
  if (first === undefined) throw new Error("the report must have an upstream");
  return first;
}

function summed({ columns }: Columns) {
  const sums = { ok: 0, failed: 0, watchedMs: 0, failedMs: 0 };
  for (const { counts, watchedMs, failedMs } of columns) {
    sums.ok += counts.ok;
    sums.failed += counts.failed;
    sums.watchedMs += watchedMs;
    sums.failedMs += failedMs;
  }
  return sums;
}

const capped = ({ watchedMs, failedMs }: Recount, mostMs: number) => ({
  watchedMs: Math.min(mostMs, watchedMs),
  failedMs: Math.min(mostMs, failedMs),
});

const okPart = ({ watchedMs, failedMs }: Recount): number | undefined =>
  watchedMs === 0 ? undefined : (watchedMs - failedMs) / watchedMs;

describe("the upstream's own ledger, counted by another program, says the same", () => {
  test.each([
    ["reloads", 1, sampleSchedule(10 * SECOND_MS), true],
    ["reloads", 2, sampleSchedule(10 * MINUTE_MS), true],
    ["reloads", 3, sampleSchedule(HOUR_MS), true],
    ["office hours", 4, officeHours(), false],
    ["office hours", 5, officeHours(), false],
  ] as const)("%s, restarts and times out of the config, world %i", (name, seed, schedule, changes) => {
    const world = lived(name, seed, schedule, false, changes);
    const { ledger, history } = world;
    const all = recount(ledger, BEGIN_MS, END_MS);
    expect(all.watchedMs).toBeGreaterThan(2 * HOUR_MS);
    expect(all.failedMs).toBeGreaterThan(5 * MINUTE_MS);
    expect(world.scrapedMs).toEqual({ ok: all.watchedMs - all.failedMs, failed: all.failedMs });

    // The page and the API: whole buckets, the oldest of which is in part older than the window.
    for (const [place, bucketMs] of [MINUTE_MS, HOUR_MS, HOUR_MS].entries()) {
      const window = history.availability(END_MS)[place];
      const windowMs = window?.windowMs ?? 0;
      const fromMs = Math.floor((END_MS - windowMs) / bucketMs) * bucketMs;
      const seen = recount(ledger, fromMs, Infinity);
      expect(window).toMatchObject(capped(seen, windowMs));
      expect(window?.ratio).toBe(okPart(seen));
    }

    // The badges, from memory; the calendar and the plot of a day, from the file.
    for (const range of RANGES.slice(1)) {
      const fromMs = Math.floor((END_MS - range.lengthMs) / HOUR_MS) * HOUR_MS;
      expect(summed(history.columns(range, END_MS))).toEqual(recount(ledger, fromMs, Infinity));
    }
    const days = world.columnsInFile(DAY_MS, spanOf(CALENDAR, END_MS));
    expect(summed(days)).toEqual(all);
    for (const { index, counts, watchedMs, failedMs } of days.columns) {
      const { ok, failed } = counts;
      expect({ ok, failed, watchedMs, failedMs }).toEqual(
        recount(ledger, index * DAY_MS, (index + 1) * DAY_MS),
      );
    }
    const day = world.columnsInFile(10 * MINUTE_MS, { fromMs: END_MS - DAY_MS, toMs: END_MS });
    const fromMs = Math.floor((END_MS - DAY_MS) / MINUTE_MS) * MINUTE_MS;
    expect([recount(ledger, fromMs, Infinity), recount(ledger, END_MS - DAY_MS, Infinity)]).toContainEqual(
      summed(day),
    );

    const report = reportOf(name, seed, schedule);
    expect(report).toMatchObject(all);
    expect(report.availability).toBe(okPart(all));
    for (const { ok, failed, watchedMs, failedMs, fromMs: dayFromMs, toMs } of report.days) {
      const seen = recount(ledger, dayFromMs, toMs);
      expect({ ok, failed, watchedMs, failedMs }).toEqual({
        ...seen,
        ...capped(seen, Math.min(toMs, END_MS) - dayFromMs),
      });
    }
  });

  test.each([6, 7, 8])("but for one gap each time that the clock steps, world %i", (seed) => {
    const world = lived("steps", seed, sampleSchedule(MINUTE_MS), true, false);
    const all = recount(world.ledger, BEGIN_MS, END_MS);
    const { ok, failed } = world.scrapedMs;
    expect(Math.abs(ok + failed - all.watchedMs)).toBeLessThanOrEqual(30 * MINUTE_MS);
    expect(ok + failed).toBeGreaterThan(6 * HOUR_MS);
  });
});

test("ten minutes that were watched stay ten minutes, whatever the schedule is then", () => {
  const history = new History("email", BEGIN_MS);
  const record = new UpstreamRecord(history, []);
  for (let turn = 0; turn <= 120; turn += 1) {
    const sentAtMs = BEGIN_MS + turn * 5_000;
    const times = { sentAtMs, endedAtMs: sentAtMs, delayMs: 0, usualGapMs: 5_000 };
    record.record({ kind: "polled", poll: samplePoll(times) });
  }
  const [, day] = history.availability(BEGIN_MS + 10 * MINUTE_MS);
  expect(day).toMatchObject({ watchedMs: 10 * MINUTE_MS, failedMs: 0, isEarly: true });
});
