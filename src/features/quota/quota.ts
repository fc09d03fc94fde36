/**
 * The long quota of one budget counts what was sent, by hour, so that it fits into the state file. Its unit is a
 * request, or for what a budget may spend, a billionth of the currency: then a request is sent for the most that it may
 * cost, and ends with what it did cost. A process that is killed cannot say what became of a request that had not ended:
 * it stays counted, and is called unconfirmed.
 */

import type { Quota } from "../../proof/part.ts";
import { type Left, type Note, type NoteKind, notesOf } from "../../kernel/text/notes.ts";
import { count, listOf, oneOf, readOne, whole } from "../../kernel/text/rows.ts";
import { DAY_MS, HOUR_MS, hourOf } from "../../kernel/time/duration.ts";

const HOURS_A_DAY: number = DAY_MS / HOUR_MS;
/** In case a quota becomes longer, or left the config by mistake, but not for ever. */
const QUOTA_HOURS_KEPT: number = 400 * HOURS_A_DAY;

/** That of 2026-01-01. No clock that shows an earlier one was right: nobody could run this program then. */
const FIRST_HOUR = 490_896;

/** So many were sent in an hour whose count was lost: as many as the quota allows. */
export const NOBODY_KNOWS: number = Infinity;

/** Units by hour since the epoch. */
export type QuotaBuckets = ReadonlyMap<number, number>;

export const QUOTAS_OF = ["requests", "money"] as const;

/** A budget has up to two quotas: of the requests that it sends, and of the money that it spends. */
export type QuotaKey = { readonly budget: string; readonly of: (typeof QUOTAS_OF)[number] };

/** In units. `requests` includes those that are unconfirmed: they may have been sent, or not. */
export type HourCount = { readonly hour: number; readonly requests: number; readonly unconfirmed: number };

export type QuotaRow = QuotaKey & HourCount;

/** The counts that outlive a process. */
export type KeptQuotas = {
  readonly rows: readonly QuotaRow[];
  /** Nobody knows what was sent in them, by whichever budget. A quota that has a row there is known all the same. */
  readonly lostHours: readonly number[];
};

export const NOTHING_KEPT: KeptQuotas = { rows: [], lostHours: [] };

/** By day, quota and budget: the hours of that day. */
export const HOURS: NoteKind<readonly HourCount[]> = {
  name: "quota",
  read: listOf((json) => {
    const [hour = 0, requests = 0, unconfirmed = 0] = listOf(whole)(json);
    return { hour, requests: unitsOf(requests), unconfirmed: unitsOf(unconfirmed) };
  }),
  merge: (one, other) => {
    const byHour = new Map(one.map((each) => [each.hour, each]));
    for (const each of other)
      if (each.requests > (byHour.get(each.hour)?.requests ?? -1)) byHour.set(each.hour, each);
    return [...byHour.values()];
  },
};

/** Hours of one quota, told as one: from `hour` less `hoursBefore` until `hour`, with both. */
type HoursSum = HourCount & { readonly hoursBefore: number };

/** By quota and budget: all that was counted of it. */
const QUOTA_SUMS: NoteKind<readonly HoursSum[]> = {
  name: "quota_sum",
  read: listOf((json) => {
    const [hour = 0, hoursBefore = 0, requests = 0, unconfirmed = 0] = listOf(whole)(json);
    return {
      hour,
      hoursBefore: count(hoursBefore),
      requests: unitsOf(requests),
      unconfirmed: unitsOf(unconfirmed),
    };
  }),
  merge: (one, other) => [...one, ...other],
};

/**
 * A period is told in so many sums, and so are the 400 days, for what is older, in case the period becomes longer: what is
 * told so leaves a quota later by that part of them at most.
 */
const SUMS = 32;

const LOST: NoteKind<number> = { name: "lost_hour", read: whole, merge: Math.max };

export function quotasIn(homes: readonly Left[]): KeptQuotas {
  const rows = [...notesOf(HOURS, homes)].flatMap(([key, hours]) => {
    const [, counts, budget = ""] = key.split(" ");
    const of = readOne(counts, oneOf(QUOTAS_OF));
    return of === undefined ? [] : hours.map((each) => ({ budget, of, ...each }));
  });
  const lostHours = [...notesOf(LOST, homes).values()];
  const sums = notesOf(QUOTA_SUMS, homes);
  if (sums.size === 0) return { rows, lostHours };
  const byQuota = new Map<string, readonly QuotaRow[]>(
    Map.groupBy(rows, ({ of, budget }) => `${of} ${budget}`),
  );
  for (const [key, told] of sums) {
    const [counts, budget = ""] = key.split(" ");
    const of = readOne(counts, oneOf(QUOTAS_OF));
    if (of !== undefined) byQuota.set(key, withSums({ budget, of }, byQuota.get(key) ?? [], told, lostHours));
  }
  return { rows: [...byQuota.values()].flat(), lostHours };
}

/** What a sum counts beyond the hours that are known of it was sent in its last hour. */
function withSums(
  quota: QuotaKey,
  rows: readonly QuotaRow[],
  sums: readonly HoursSum[],
  lostHours: readonly number[],
): readonly QuotaRow[] {
  const byHour = new Map(rows.map((row) => [row.hour, row]));
  for (const sum of sums) {
    const isWithin = (hour: number): boolean => hour >= sum.hour - sum.hoursBefore && hour <= sum.hour;
    const known = [...byHour.values()].filter(({ hour }) => isWithin(hour));
    const beyond = (of: "requests" | "unconfirmed"): number => {
      const units = known.map((row) => row[of]);
      return units.includes(NOBODY_KNOWS)
        ? 0
        : Math.max(
            0,
            units.reduce((left, each) => left - each, sum[of]),
          );
    };
    const nothing = { ...quota, requests: 0, unconfirmed: 0 };
    const { requests, unconfirmed } = byHour.get(sum.hour) ?? nothing;
    byHour.set(sum.hour, {
      ...quota,
      hour: sum.hour,
      requests: requests + beyond("requests"),
      unconfirmed: unconfirmed + beyond("unconfirmed"),
    });
    for (const hour of lostHours)
      if (isWithin(hour) && !byHour.has(hour)) byHour.set(hour, { ...nothing, hour });
  }
  return [...byHour.values()];
}

/** `hours` are all that are counted of that day. */
function hoursNote({ of, budget }: QuotaKey, day: number, hours: readonly HourCount[]): Note {
  return {
    kind: HOURS.name,
    key: `${day} ${of} ${budget}`,
    json: hours.map(({ hour, requests, unconfirmed }) => [hour, requests, unconfirmed].map(storedUnits)),
    untilMs: (day + 1) * DAY_MS + QUOTA_HOURS_KEPT * HOUR_MS,
    isCount: true,
  };
}

export function quotaNotes({ rows, lostHours }: KeptQuotas): readonly Note[] {
  const byDay = Map.groupBy(rows, ({ of, budget, hour }) => `${dayOf(hour)} ${of} ${budget}`);
  return [
    ...[...byDay.values()].flatMap((hours) =>
      hours[0] ? hoursNote(hours[0], dayOf(hours[0].hour), hours) : [],
    ),
    ...lostHours.map(lostNote),
  ];
}

function lostNote(hour: number): Note {
  const untilMs = (hour + 1 + QUOTA_HOURS_KEPT) * HOUR_MS;
  return { kind: LOST.name, key: String(hour), json: hour, untilMs, isCount: true };
}

function dayOf(hour: number): number {
  return Math.floor(hour / HOURS_A_DAY);
}

/** JSON has no infinity. */
const UNKNOWN = -1;

/** Answers may claim to have cost so much that no whole number holds it. */
function storedUnits(units: number): number {
  return units === NOBODY_KNOWS ? UNKNOWN : Math.min(units, Number.MAX_SAFE_INTEGER);
}

function unitsOf(stored: number): number {
  return stored === UNKNOWN ? NOBODY_KNOWS : count(stored);
}

/** This is not all that there was. So as of now, all of every quota counts as used. */
export function allUsed({ rows, lostHours }: KeptQuotas, nowMs: number): KeptQuotas {
  const hour = hourOf(nowMs);
  const unknown = { requests: NOBODY_KNOWS, unconfirmed: NOBODY_KNOWS };
  return {
    rows: rows.map((row) => (row.hour === hour ? { ...row, ...unknown } : row)),
    lostHours: [...new Set([...lostHours, hour])],
  };
}

/** A request that has not ended. Its hour changes when the calendar is set. */
export type OpenRequest = { readonly units: number; hour: number };

export class QuotaCount {
  readonly key: QuotaKey;
  readonly #nowMs: () => number;
  readonly #surelyMs: () => number;
  readonly #onChanged: (note: Note) => void;
  #limit: Quota | undefined;
  /** The longest that it had, or may have had in an earlier process. */
  #longestMs: number;
  /** A request may be counted so long after it was sent. */
  #uncountedMs = 0;
  readonly #byHour: Map<number, number>;
  /** This process sent these of them. */
  readonly #ownByHour = new Map<number, number>();
  /** These of them were in flight when an earlier process was killed. */
  readonly #unconfirmed: QuotaBuckets;
  readonly #open = new Set<OpenRequest>();

  /** `nowMs` names the hours: see steady-calendar.ts. They leave by `surelyMs`, which is earlier while that is in doubt. */
  constructor(
    key: QuotaKey,
    nowMs: () => number,
    restored: readonly HourCount[] = [],
    onChanged: (note: Note) => void = () => {},
    surelyMs: () => number = nowMs,
  ) {
    this.key = key;
    this.#nowMs = nowMs;
    this.#surelyMs = surelyMs;
    this.#onChanged = onChanged;
    this.#longestMs = restored.length === 0 ? 0 : QUOTA_HOURS_KEPT * HOUR_MS;
    this.#byHour = new Map(restored.map(({ hour, requests }) => [hour, requests]));
    this.#unconfirmed = new Map(restored.map(({ hour, unconfirmed }) => [hour, unconfirmed]));
  }

  /** Undefined for one that left the config: the file hears nothing of it. */
  get limit(): Quota | undefined {
    return this.#limit;
  }

  /** Something of it counts, should its budget come back with the quota that it had. */
  get isNeeded(): boolean {
    return this.#open.size > 0 || sumSince(this.#byHour, hourOf(this.#surelyMs() - this.#longestMs)) > 0;
  }

  change(limit: Quota | undefined, uncountedMs = 0): void {
    this.#uncountedMs = Math.max(this.#uncountedMs, uncountedMs);
    this.#longestMs = Math.max(this.#longestMs, limit?.perMs ?? 0);
    const wasWithout = this.#limit === undefined;
    this.#limit = limit;
    if (wasWithout && limit !== undefined) for (const note of this.notes) this.#onChanged(note);
  }

  /** What costs nothing is always allowed. */
  hasRoomFor(units: number): boolean {
    return this.#limit === undefined || units === 0 || this.#usedOf(this.#limit) + units <= this.#limit.most;
  }

  /** Until when there is no room for so many units; undefined while there is. By its own calendar. */
  noRoomUntilMs(units: number): number | undefined {
    const limit = this.#limit;
    if (limit === undefined || this.hasRoomFor(units)) return undefined;
    const { most, perMs } = limit;
    const nowMs = this.#nowMs();
    const oldestHour = this.#oldestHourOf(limit);
    let used = this.#usedOf(limit);
    for (const [hour, taken] of [...this.#byHour].toSorted(([one], [other]) => one - other)) {
      if (hour < oldestHour) continue;
      used -= taken;
      if (used + units <= most) return Math.max(nowMs, (hour + 1) * HOUR_MS + perMs + this.#uncountedMs);
    }
    return nowMs + perMs + HOUR_MS;
  }

  get used(): number | undefined {
    return this.#limit && countable(this.#usedOf(this.#limit), this.#limit);
  }

  /** An earlier process may have sent these of the used ones, or not. */
  get unconfirmed(): number | undefined {
    if (this.#limit === undefined) return undefined;
    return countable(sumSince(this.#unconfirmed, this.#oldestHourOf(this.#limit)), this.#limit);
  }

  get buckets(): QuotaBuckets {
    const limit = this.#limit;
    return limit === undefined
      ? this.#byHour
      : new Map([...this.#byHour].map(([hour, requests]) => [hour, countable(requests, limit)]));
  }

  /** The file must hold all of these. */
  get notes(): readonly Note[] {
    return [...new Set([...this.#byHour.keys()].map(dayOf))].map((day) => this.#noteOf(day));
  }

  /** All that is counted, in at most two kilobytes. */
  get sums(): readonly Note[] {
    if (this.#limit === undefined) return [];
    const { perMs } = this.#limit;
    const oldestHour = this.#oldestHourOf(this.#limit);
    const hoursEach = Math.max(1, Math.ceil(perMs / HOUR_MS / SUMS));
    // Those of the period, and then those before it.
    const sumOf = (hour: number): number =>
      hour < oldestHour ? -Math.floor(hour / (QUOTA_HOURS_KEPT / SUMS)) : Math.floor(hour / hoursEach);
    const sums = [...Map.groupBy(this.#byHour.keys(), sumOf).values()].map((hours) => {
      const last = Math.max(...hours);
      const counts = hours.map((hour) => this.#countOf(hour));
      const requests = counts.reduce((sum, each) => sum + each.requests, 0);
      const unconfirmed = counts.reduce((sum, each) => sum + each.unconfirmed, 0);
      return [last, last - Math.min(...hours), storedUnits(requests), storedUnits(unconfirmed)];
    });
    return [{ kind: QUOTA_SUMS.name, key: `${this.key.of} ${this.key.budget}`, json: sums, isCount: true }];
  }

  /**
   * A request counts at once, and is unconfirmed until it ends. Where the limit left the config it counts when it ends,
   * and nothing is kept of it until then.
   */
  send(units: number): OpenRequest | undefined {
    if (this.#limit === undefined) return undefined;
    const request = { units, hour: this.#hour() };
    this.#open.add(request);
    this.#add(request.hour, units);
    this.#changed(request.hour);
    return request;
  }

  /** What was sent is ended once, with the units that it took: none where nothing was sent. */
  end(request: OpenRequest | undefined, units: number): void {
    if (request !== undefined) this.#open.delete(request);
    const hour = request?.hour ?? this.#hour();
    this.#add(hour, units - (request?.units ?? 0));
    this.#changed(hour);
  }

  /**
   * Nobody knows by which time a request was counted before the calendar was set. So what this process sent leaves the
   * quota later, never earlier. What any process sent in an impossible hour was sent by now.
   */
  calendarSet(byMs: number, nowMs: number): void {
    for (const [hour, requests] of this.#byHour)
      if (hour < FIRST_HOUR && hourOf(nowMs) >= FIRST_HOUR) this.#ownByHour.set(hour, requests);
    const own = [...this.#ownByHour];
    this.#ownByHour.clear();
    for (const [hour, requests] of own) {
      addTo(this.#byHour, hour, -requests);
      this.#add(hourAfter(hour, byMs, nowMs), requests);
    }
    const before = new Set([...own.map(([hour]) => hour), ...[...this.#open].map(({ hour }) => hour)]);
    for (const request of this.#open) request.hour = hourAfter(request.hour, byMs, nowMs);
    for (const hour of before) {
      this.#changed(hour);
      this.#changed(hourAfter(hour, byMs, nowMs));
    }
  }

  #add(hour: number, amount: number): void {
    addTo(this.#byHour, hour, amount);
    addTo(this.#ownByHour, hour, amount);
  }

  #changed(hour: number): void {
    if (this.#limit !== undefined) this.#onChanged(this.#noteOf(dayOf(hour)));
  }

  #noteOf(day: number): Note {
    const hours: HourCount[] = [];
    for (let hour = day * HOURS_A_DAY; hour < (day + 1) * HOURS_A_DAY; hour += 1)
      if (this.#byHour.has(hour)) hours.push(this.#countOf(hour));
    return hoursNote(this.key, day, hours);
  }

  #countOf(hour: number): HourCount {
    const requests = this.#byHour.get(hour) ?? 0;
    let unconfirmed = this.#unconfirmed.get(hour) ?? 0;
    for (const open of this.#open) if (open.hour === hour) unconfirmed += open.units;
    return { hour, requests, unconfirmed: Math.min(requests, unconfirmed) };
  }

  /** A bucket counts until all of it is older than the window: rounded to the safe side. */
  #usedOf(limit: Quota): number {
    return sumSince(this.#byHour, this.#oldestHourOf(limit));
  }

  #oldestHourOf({ perMs }: Quota): number {
    return hourOf(this.#surelyMs() - perMs - this.#uncountedMs);
  }

  #hour(): number {
    const hour = hourOf(this.#nowMs());
    if (!this.#byHour.has(hour)) this.#dropOlderThan(hourOf(this.#surelyMs()) - QUOTA_HOURS_KEPT);
    return hour;
  }

  #dropOlderThan(oldestHour: number): void {
    for (const hour of this.#byHour.keys()) {
      if (hour >= oldestHour) continue;
      this.#byHour.delete(hour);
      this.#ownByHour.delete(hour);
    }
  }
}

/** After the calendar was set, an hour becomes this one: it is not earlier, and not in the future. */
function hourAfter(hour: number, byMs: number, nowMs: number): number {
  const nowHour = hourOf(nowMs);
  if (hour < FIRST_HOUR && nowHour >= FIRST_HOUR) return nowHour;
  return Math.max(hour, Math.min(nowHour, hour + Math.ceil(byMs / HOUR_MS)));
}

function addTo(byHour: Map<number, number>, hour: number, amount: number): void {
  const after = (byHour.get(hour) ?? 0) + amount;
  // What nobody knows less what nobody knows is no number.
  byHour.set(hour, after > 0 ? after : 0);
}

function sumSince(byHour: QuotaBuckets, oldestHour: number): number {
  let sum = 0;
  for (const [hour, requests] of byHour) if (hour >= oldestHour) sum += requests;
  return sum;
}

/** Where nobody knows, the whole quota counts as used. */
function countable(units: number, { most }: Quota): number {
  return units === NOBODY_KNOWS ? most : units;
}
