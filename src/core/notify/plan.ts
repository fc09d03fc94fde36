/**
 * Who is to be told what, and when. Nothing is queued: what is due is what is known of the troubles, less what was told.
 * So nothing is lost by a restart or a receiver that is away, and what is over by then is told as it is by then.
 */

import { isOneOf, type Receiver, RECEIVER_EVENTS, type ReceiverEvent } from "../config/config.ts";
import type { Side } from "../exchange/reasons.ts";
import type { HealthState } from "../poll/health.ts";
import { DAY_MS, MINUTE_MS } from "../time/duration.ts";
import { isForGood, isState, isWorse, NO_INCIDENT, type Trouble, type TroubleKind } from "./trouble.ts";

export type ToldEvent = ReceiverEvent | "flapping";
export const TOLD_EVENTS: readonly ToldEvent[] = [...RECEIVER_EVENTS, "flapping"];

/** What a receiver was told last of one trouble. */
export type Notice = {
  readonly receiver: string;
  /** The id of the trouble. */
  readonly incident: string;
  readonly subject: string;
  readonly upstream: string | undefined;
  readonly startedAtMs: number;
  readonly event: ToldEvent;
  readonly atMs: number;
  /** The id that it was told under: all of one message share it, and it ends under it. */
  readonly thread: string;
  /** Whose fault it was, as far as that was known. */
  readonly side: Side;
  /** Its end is to be told yet. */
  readonly isOpen: boolean;
};

/** Of one receiver. */
export type Told = {
  /** What was over before is no news to it. */
  readonly sinceMs: number;
  /** By the ids of their troubles. */
  readonly notices: ReadonlyMap<string, Notice>;
};

/** What earlier processes told. */
export type ToldBefore = {
  /** When each receiver was first known. Wall clock. */
  readonly since: ReadonlyMap<string, number>;
  readonly notices: readonly Notice[];
};

export type SceneUpstream = {
  readonly state: HealthState;
  readonly labels: Readonly<Record<string, string>>;
  /** It failed, and the failure may be our own network's. */
  readonly isUnsure: boolean;
};

export type Scene = {
  readonly troubles: readonly Trouble[];
  /** Undefined where it is not in the config. */
  upstream(name: string): SceneUpstream | undefined;
};

export type Due = {
  readonly trouble: Trouble;
  readonly event: ToldEvent;
  readonly dueAtMs: number;
  /** It was told, and still is so. */
  readonly isReminder: boolean;
  /** All of these are told with it. */
  readonly closes: readonly string[];
};

export type Plan = {
  readonly dues: readonly Due[];
  /** What needs no telling. */
  readonly quiet: readonly Notice[];
  /** When more will be due, if nothing happens until then. */
  readonly nextAtMs: number;
};

/** So often within this time is flapping. */
const FLAPS = 3;
export const FLAP_WINDOW_MS: number = 30 * MINUTE_MS;
/** It flaps no more when it stays as it is for so long. */
const STEADY_MS: number = 10 * MINUTE_MS;
/** Until then it usually is known whether we were offline. */
const UNSURE_MS: number = 2 * MINUTE_MS;
/** A single refusal for sending too fast is no news. */
const THROTTLED_AFTER_MS: number = 5 * MINUTE_MS;
/** Some announce another end of the API in each answer, such as in 30 days: it is told once a day. */
const END_AGAIN_MS: number = DAY_MS;
/** Servers that answer in turn may not agree. So many ends of one upstream are known as told. */
const MOST_ENDS = 8;
/** What was over for so long is no news any more. */
export const NEWS_MS: number = DAY_MS;
/** What is over and was told is needed only to know that: by then its incident is no news. */
export const FORGOTTEN_MS: number = 2 * DAY_MS;

function isMatched({ only }: Receiver, upstream: string | undefined, scene: Scene): boolean {
  if (only === undefined) return true;
  if (upstream === undefined) return false;
  const labels = scene.upstream(upstream)?.labels;
  // One that has left the config was matched when it was told of.
  if (labels === undefined) return true;
  return isOneOf(only, { name: upstream, labels });
}

export function planFor(receiver: Receiver, told: Told, scene: Scene, nowMs: number): Plan {
  const openNotices = [...told.notices.values()].filter(({ isOpen }) => isOpen);
  const planning = new Planning(receiver, told, scene, nowMs);
  planning.ends(openNotices.filter(({ event }) => event === "api_ending"));
  const open = Map.groupBy(openNotices, ({ subject }) => subject);
  const bySubject = Map.groupBy(
    scene.troubles.filter(({ id, kind, upstream }) => {
      const isWanted = receiver.on.includes(kind) || told.notices.has(id);
      return isWanted && isMatched(receiver, upstream, scene);
    }),
    ({ subject }) => subject,
  );
  for (const [subject, troubles] of bySubject)
    planning.subject(
      troubles.toSorted((one, other) => one.startedAtMs - other.startedAtMs),
      open.get(subject) ?? [],
    );
  for (const [subject, notices] of open) {
    const ids = new Set(bySubject.get(subject)?.map(({ id }) => id));
    planning.orphans(notices.filter(({ incident }) => !ids.has(incident)));
  }
  const { dues, quiet, nextAtMs } = planning;
  return { dues: dues.toSorted((one, other) => one.dueAtMs - other.dueAtMs), quiet, nextAtMs };
}

const LONGEST_WAITS = 4;

/** What falls within the wait goes together, and whoever goes on falling is waited for: but not for ever. */
export function sendAtMs(dues: readonly Due[], groupWaitMs: number): number {
  const [first, last] = [dues.at(0), dues.at(-1)];
  if (first === undefined || last === undefined) return Infinity;
  return Math.min(last.dueAtMs + groupWaitMs, first.dueAtMs + LONGEST_WAITS * groupWaitMs);
}

class Planning {
  readonly dues: Due[] = [];
  readonly quiet: Notice[] = [];
  nextAtMs = Infinity;
  /** Incidents under which it was told that one flaps, while it does. */
  readonly #flaps = new Set<string>();
  /** By upstream. */
  readonly #endToldAtMs = new Map<string, number>();
  readonly #receiver: Receiver;
  readonly #told: Told;
  readonly #scene: Scene;
  readonly #nowMs: number;

  constructor(receiver: Receiver, told: Told, scene: Scene, nowMs: number) {
    this.#receiver = receiver;
    this.#told = told;
    this.#scene = scene;
    this.#nowMs = nowMs;
  }

  get #hasUp(): boolean {
    return this.#receiver.on.includes("up");
  }

  /** What was told of ends of APIs. */
  ends(told: readonly Notice[]): void {
    for (const [upstream = "", ends] of Map.groupBy(told, (notice) => notice.upstream)) {
      const newestFirst = ends.toSorted((one, other) => other.atMs - one.atMs);
      this.#endToldAtMs.set(upstream, newestFirst[0]?.atMs ?? 0);
      for (const notice of newestFirst.slice(MOST_ENDS)) this.#settle(notice);
    }
  }

  /** The oldest trouble first. */
  subject(troubles: readonly Trouble[], open: readonly Notice[]): void {
    const flapping = open.find(({ event }) => event === "flapping");
    if (flapping !== undefined) return this.#flapping(flapping, troubles);
    const recent = troubles.filter((each) => this.#isOftenOne(each));
    const newest = recent.at(-1);
    // A key that is rejected once is no part of an outage that comes and goes.
    const often = recent.filter(({ kind }) => kind === newest?.kind);
    const isNew = newest !== undefined && !this.#told.notices.has(newest.id);
    if (!isNew || often.length < FLAPS || this.#goesOn(newest, troubles) !== undefined)
      return this.#each(troubles);
    const untold = often.filter((each) => !this.#isToldOpen(each));
    this.#each(troubles.filter((each) => !untold.includes(each)));
    const closes = untold.slice(0, -1).map(({ id }) => id);
    this.#due(newest, "flapping", newest.startedAtMs + this.#afterMs(newest.kind), closes);
  }

  #isToldOpen({ id }: Trouble): boolean {
    return this.#told.notices.get(id)?.isOpen === true;
  }

  #each(troubles: readonly Trouble[]): void {
    for (const trouble of troubles) {
      const notice = this.#told.notices.get(trouble.id);
      if (notice?.isOpen === false) continue;
      if (trouble.endedAtMs !== undefined) this.#ended(trouble, trouble.endedAtMs, notice, troubles);
      else if (notice !== undefined) this.#ongoing(trouble, notice);
      else this.#begun(trouble, troubles);
    }
  }

  /** Told, and no trouble that we know of any more. */
  orphans(notices: readonly Notice[]): void {
    for (const notice of notices) {
      const { upstream, event, incident, subject, startedAtMs } = notice;
      if (upstream === undefined || this.#flaps.has(incident)) continue;
      const now = this.#scene.upstream(upstream);
      const isUp = now?.state === "up" || now?.state === "degraded";
      if (now !== undefined && (!isUp || isForGood(event))) continue;
      if (isForGood(event)) this.#settle(notice);
      else {
        const kind: TroubleKind = event === "up" || event === "flapping" ? "down" : event;
        const seen = { endedAtMs: this.#nowMs, knownAtMs: notice.atMs, isUnwatched: true } as const;
        const trouble = { ...NO_INCIDENT, id: incident, subject, kind, upstream, startedAtMs, ...seen };
        this.#due(trouble, "up", notice.atMs);
      }
    }
  }

  #begun(trouble: Trouble, troubles: readonly Trouble[]): void {
    const { kind, upstream, startedAtMs, heldAtMs = Infinity } = trouble;
    // Whether we are offline is told when we are back. A credit may no longer be ending, and not be over yet.
    if (kind === "offline" || heldAtMs - startedAtMs < this.#afterMs(kind)) return;
    const told = this.#goesOn(trouble, troubles);
    if (told !== undefined) {
      this.quiet.push({ ...told, isOpen: false }, { ...told, incident: trouble.id, startedAtMs });
      return;
    }
    const isUnsure = upstream !== undefined && this.#scene.upstream(upstream)?.isUnsure === true;
    const sureAtMs = isState(kind) && isUnsure ? startedAtMs + UNSURE_MS : 0;
    const endToldAtMs = kind === "api_ending" ? this.#endToldAtMs.get(upstream ?? "") : undefined;
    const againAtMs = endToldAtMs === undefined ? 0 : endToldAtMs + END_AGAIN_MS;
    this.#due(trouble, kind, Math.max(startedAtMs + this.#afterMs(kind), sureAtMs, againAtMs));
  }

  /** What was told of it before we were away, if that is as it was. */
  #goesOn({ kind, endedAtMs }: Trouble, troubles: readonly Trouble[]): Notice | undefined {
    if (endedAtMs !== undefined) return undefined;
    const before = troubles.find((each) => each.isUnwatched && this.#isToldOpen(each));
    return before?.kind === kind ? this.#told.notices.get(before.id) : undefined;
  }

  #ongoing(trouble: Trouble, notice: Notice): void {
    if (isWorse(trouble.kind, notice.event) && this.#receiver.on.includes(trouble.kind))
      this.#due(trouble, trouble.kind, notice.atMs);
    else this.#remind(trouble, notice);
  }

  #remind(trouble: Trouble, { event, atMs }: Notice): void {
    const { remindMs } = this.#receiver;
    if (remindMs !== undefined && !isForGood(trouble.kind))
      this.#due(trouble, event, atMs + remindMs, [], true);
  }

  #ended(trouble: Trouble, endedAtMs: number, notice: Notice | undefined, all: readonly Trouble[]): void {
    const { kind, upstream, startedAtMs, isUnwatched } = trouble;
    if (notice !== undefined) {
      if (isForGood(kind)) return this.#settle(notice);
      const state = upstream === undefined ? "up" : this.#scene.upstream(upstream)?.state;
      const isKnown = state === undefined || state === "up" || state === "degraded";
      const newest = all.at(-1);
      // Nobody saw its end: it may be down still. If it is seen to be, the new incident goes on with what was told.
      const goesOn = newest?.endedAtMs === undefined && newest?.kind === kind;
      if (isUnwatched && (newest === trouble ? !isKnown : goesOn)) return;
      this.#due(trouble, "up", endedAtMs);
      return;
    }
    if (!this.#isNews(trouble) || !this.#isLong(trouble)) return;
    if (kind === "offline" || !this.#hasUp) this.#due(trouble, kind, endedAtMs);
    else this.#due(trouble, "up", Math.max(endedAtMs, startedAtMs));
  }

  #flapping(flapping: Notice, all: readonly Trouble[]): void {
    const { incident: id, startedAtMs, atMs } = flapping;
    const fromMs = startedAtMs - FLAP_WINDOW_MS;
    const first = all.find((each) => each.id === id);
    // Where it has flapped for long, that one is no longer among those that are known, and the others are untold.
    const untold = all.filter((each) => !this.#told.notices.has(each.id));
    const { kind } = first ?? untold.find((each) => this.#isLong(each)) ?? untold[0] ?? {};
    const flaps = all.filter((each) => {
      const isOther = each.id !== id && this.#isToldOpen(each);
      return each.kind === kind && each.startedAtMs > fromMs && !isOther;
    });
    const others = all.filter((each) => !flaps.includes(each));
    this.#each(others);
    const newest = flaps.at(-1);
    if (newest === undefined) return;
    this.#flaps.add(id);
    const closes = flaps.flatMap((each) => (this.#told.notices.has(each.id) ? [] : [each.id]));
    const says = `It failed ${first === undefined ? "more than " : ""}${flaps.length} times.`;
    const whole = { ...newest, id, startedAtMs, says };
    // What is told next ends it.
    const next = others.filter(({ endedAtMs }) => endedAtMs === undefined);
    const nextAtMs = next.map((each) => each.startedAtMs + this.#afterMs(each.kind));
    const isDue =
      newest.endedAtMs === undefined
        ? this.#due(newest, newest.kind, newest.startedAtMs + STEADY_MS, [...closes, id])
        : this.#due(whole, "up", Math.min(newest.endedAtMs + STEADY_MS, ...nextAtMs), closes);
    if (!isDue) this.#remind({ ...whole, endedAtMs: undefined, knownAtMs: atMs }, flapping);
  }

  /** Those in the window count, those that are to be told at all. */
  #isOftenOne(trouble: Trouble): boolean {
    const isRecent = trouble.startedAtMs > this.#nowMs - FLAP_WINDOW_MS;
    return isState(trouble.kind) && isRecent && this.#isNews(trouble) && this.#isLong(trouble);
  }

  #isNews({ endedAtMs = Infinity }: Trouble): boolean {
    return endedAtMs >= this.#told.sinceMs && endedAtMs > this.#nowMs - NEWS_MS;
  }

  #isLong({ kind, startedAtMs, endedAtMs }: Trouble): boolean {
    return endedAtMs === undefined || endedAtMs - startedAtMs >= this.#afterMs(kind);
  }

  #afterMs(kind: TroubleKind): number {
    const { afterMs } = this.#receiver;
    return kind === "throttled" ? Math.max(afterMs, THROTTLED_AFTER_MS) : afterMs;
  }

  #settle(notice: Notice): void {
    this.quiet.push({ ...notice, isOpen: false });
  }

  /** Whether it is due. Of an end, nothing is told to who did not ask for it. */
  #due(
    trouble: Trouble,
    event: ToldEvent,
    dueAtMs: number,
    closes: readonly string[] = [],
    isReminder = false,
  ): boolean {
    // Where it is of the future, the clock was set back.
    const { id, startedAtMs, endedAtMs = startedAtMs, knownAtMs } = trouble;
    const isAhead = Math.max(startedAtMs, endedAtMs, knownAtMs) > this.#nowMs;
    const atMs = isAhead ? this.#nowMs - MINUTE_MS : Math.max(dueAtMs, knownAtMs);
    const isDue = atMs <= this.#nowMs;
    const told = event === "up" && !this.#hasUp ? this.#told.notices.get(id) : undefined;
    if (!isDue) this.nextAtMs = Math.min(this.nextAtMs, dueAtMs);
    else if (told === undefined) this.dues.push({ trouble, event, dueAtMs: atMs, isReminder, closes });
    else for (const incident of [...closes, id]) this.#settle({ ...told, incident });
    return isDue;
  }
}

/** The id that it was told under, or that what goes on as it was. */
export function threadOf({ trouble, closes }: Due, told: ReadonlyMap<string, Notice>): string | undefined {
  return [trouble.id, ...closes].flatMap((id) => told.get(id) ?? []).find(({ isOpen }) => isOpen)?.thread;
}

/** What is known to a receiver once it was told. */
export function noticesOf(
  receiver: string,
  due: Due,
  told: ReadonlyMap<string, Notice>,
  { incident: thread, ...how }: { readonly atMs: number; readonly incident: string; readonly side: Side },
): readonly Notice[] {
  const { trouble, event, closes } = due;
  const { id, subject, upstream, startedAtMs, endedAtMs } = trouble;
  const isOpen = event === "flapping" || endedAtMs === undefined;
  const what = { receiver, subject, upstream, startedAtMs, event, isOpen };
  const own = { ...what, ...how, incident: id, thread: threadOf(due, told) ?? thread };
  // They need not have been told themselves.
  const others = closes.map((incident) => ({ ...(told.get(incident) ?? own), incident, isOpen: false }));
  return [...others, own];
}

/** A credit that was ending when an earlier process told so is still the same trouble. */
export function conditionsIn(notices: readonly Notice[]): ReadonlyMap<string, Trouble> {
  const open = new Map<string, Trouble>();
  for (const { isOpen, incident: id, subject, event: kind, upstream, startedAtMs } of notices) {
    if (!isOpen || subject === upstream || kind === "up" || kind === "flapping") continue;
    const found = { id, subject, kind, upstream, startedAtMs, knownAtMs: startedAtMs };
    open.set(subject, { ...NO_INCIDENT, ...found });
  }
  return open;
}
