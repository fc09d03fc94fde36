/** What a receiver is to be told now, and when: the alerts of now, led through the table of transitions. */

import { isOneOf, type Receiver } from "../receiver.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../kernel/time/duration.ts";
import { type Alert, type AlertKind, isForGood, isState, isWorse, NO_INCIDENT } from "./alert.ts";
import type { HealthState } from "../../../kernel/poll/health.ts";
import type { Outlook } from "./outlook.ts";
import {
  eventOf,
  isOpen,
  type Notified,
  type NotifiedEvent,
  type Signal,
  type Tell,
  TRANSITIONS,
} from "./transitions.ts";

export type Question = Outlook & {
  readonly receiver: Receiver;
  /** What was over before is no news to it. */
  readonly sinceMs: number;
  /** What it knows, by the ids of alerts. */
  readonly notified: ReadonlyMap<string, Notified>;
};

/** An alert as the receiver is told of it. */
type Item = {
  readonly alert: Forgotten;
  /** What it knows of the alert, or of the one in whose place this one goes on. */
  readonly notified: Notified | undefined;
  /** Alerts that are told with it, and closed. */
  readonly parts: readonly string[];
  readonly isFlapping?: boolean;
  /** Of what flapped: since when it has stayed as it is for long enough. */
  readonly steadyAtMs?: number;
};

export type Due = Pick<Item, "alert" | "notified" | "parts"> & {
  readonly event: NotifiedEvent;
  readonly dueMs: number;
  /** It was told, and still is so. */
  readonly isReminder: boolean;
  /** Its upstream left the config while it went on. */
  readonly isGone: boolean;
  /** Nobody saw its end, and its upstream is not known to be up. */
  readonly isUnclear: boolean;
  /** Once it was told. */
  readonly next: Notified["state"];
};

export type Plan = {
  /** The oldest first. */
  readonly dues: readonly Due[];
  /** What changes, and need not be told. */
  readonly quiet: readonly Notified[];
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
export function planFor(question: Question): Plan {
  const { notified, nowMs } = question;
  const open = [...notified.values()].filter(isOpen);
  const alerts = question.alerts.filter((alert) => isAskedFor(alert, question));
  const ids = new Set(alerts.map(({ id }) => id));
  const forgotten = open.flatMap((each) => (ids.has(each.alert) ? [] : forgottenAlert(each, question)));
  const flapping = new Map(
    open.filter(({ state }) => state === "flapping").map((each) => [each.subject, each]),
  );
  const ends = Map.groupBy(
    open.filter(({ kind }) => kind === "api_ending").toSorted((one, other) => other.atMs - one.atMs),
    ({ upstream }) => upstream,
  );
  const quiet = [...ends.values()].flatMap((newestFirst) =>
    newestFirst.slice(MOST_ENDS).map((each) => closed(each, nowMs)),
  );
  const dues: Due[] = [];
  let nextAtMs = Infinity;
  for (const [subject, some] of Map.groupBy([...alerts, ...forgotten], (alert) => alert.subject)) {
    const oldestFirst = some.toSorted((one, other) => one.startedAtMs - other.startedAtMs);
    for (const item of itemsOf(oldestFirst, flapping.get(subject), question)) {
      quiet.push(...takenOver(item, nowMs));
      const end = ends.get(item.alert.upstream)?.[0];
      // Of what is forgotten nobody knows whether another one came after it, or is the same.
      const isNewest = item.alert.isForgotten === true || oldestFirst.at(-1) === item.alert;
      const due = dueOf(item, isNewest, end, question);
      if (due === undefined) continue;
      const { event, dueMs, alert, next: state } = due;
      if (dueMs > nowMs) nextAtMs = Math.min(nextAtMs, dueMs);
      else if (event !== undefined) dues.push({ ...due, event });
      else if (item.notified !== undefined)
        for (const id of [...item.parts, alert.id])
          quiet.push({ ...item.notified, alert: id, state, atMs: nowMs });
    }
  }
  return { dues: dues.toSorted((one, other) => one.dueMs - other.dueMs), quiet, nextAtMs };
}

/** What was told of another alert, in whose place this one goes on. */
function takenOver(
  { alert: { id, startedAtMs }, notified, parts }: Item,
  nowMs: number,
): readonly Notified[] {
  if (notified === undefined || notified.alert === id) return [];
  const others = [notified.alert, ...parts].map((alert) => closed({ ...notified, alert }, nowMs));
  return [...others, { ...notified, alert: id, startedAtMs }];
}

function closed(notified: Notified, atMs: number): Notified {
  return { ...notified, state: "closed", atMs };
}

const LONGEST_WAITS = 4;

/** What falls within the wait goes together, and whoever goes on falling is waited for: but not for ever. */
export function sendAtMs(dues: readonly Due[], groupWaitMs: number): number {
  const [first, last] = [dues.at(0), dues.at(-1)];
  if (first === undefined || last === undefined) return Infinity;
  return Math.min(last.dueMs + groupWaitMs, first.dueMs + LONGEST_WAITS * groupWaitMs);
}

/** What the receiver knows once it has taken the message. */
export function notifiedOf(
  receiver: string,
  due: Due,
  known: ReadonlyMap<string, Notified>,
  { atMs, incident }: { readonly atMs: number; readonly incident: string },
): readonly Notified[] {
  const { alert, notified, event, parts, next: state } = due;
  const { id, subject, upstream, startedAtMs } = alert;
  const kind = event === "up" || event === "flapping" ? alert.kind : event;
  const what = { receiver, alert: id, state, subject, upstream, kind, startedAtMs };
  const own = { ...what, atMs, thread: notified?.thread ?? incident };
  return [...parts.map((part) => closed({ ...(known.get(part) ?? own), alert: part }, atMs)), own];
}

function isAskedFor({ id, kind, upstream }: Alert, question: Question): boolean {
  const { receiver, notified } = question;
  const { on, only } = receiver;
  if (!on.includes(kind) && !notified.has(id)) return false;
  if (only === undefined) return true;
  if (upstream === undefined) return false;
  const labels = question.upstream(upstream)?.labels;
  // One that has left the config was matched when it was told of.
  return labels === undefined || isOneOf(only, { name: upstream, labels });
}

type Forgotten = Alert & { readonly isForgotten?: true };

/** It was told, and nothing else is known of it any more. */
function forgottenAlert(notified: Notified, question: Question): readonly Forgotten[] {
  const { alert: id, subject, kind, upstream, startedAtMs, atMs } = notified;
  if (upstream === undefined || (isForGood(kind) && question.upstream(upstream) !== undefined)) return [];
  const what = { id, subject, kind, upstream, startedAtMs, endedAtMs: atMs, knownAtMs: atMs };
  return [{ ...NO_INCIDENT, ...what, isUnwatched: true, isForgotten: true }];
}

/** Of one subject. What flaps is one item, and so is what goes on after nobody watched it. */
function itemsOf(
  oldestFirst: readonly Forgotten[],
  flapping: Notified | undefined,
  question: Question,
): readonly Item[] {
  const { notified, nowMs } = question;
  const single = (alert: Alert): Item => ({ alert, notified: notified.get(alert.id), parts: [] });
  const allBut = (some: readonly Alert[]): readonly Item[] =>
    oldestFirst.filter((alert) => !some.includes(alert)).map(single);
  if (flapping !== undefined) return flappingItems(oldestFirst, flapping, allBut, question);
  const known = oldestFirst.filter(({ isForgotten }) => !isForgotten);
  const newest = known.at(-1);
  const before = oldestFirst.find(({ id, isUnwatched }) => isUnwatched && isOpen(notified.get(id)));
  const isNew = newest !== undefined && newest.endedAtMs === undefined && !notified.has(newest.id);
  if (isNew && before?.kind === newest.kind)
    return [...allBut([before, newest]), { alert: newest, notified: notified.get(before.id), parts: [] }];
  const recent = known.filter(
    (alert) => isState(alert.kind) && alert.startedAtMs > nowMs - FLAP_WINDOW_MS && isNews(alert, question),
  );
  const last = recent.at(-1);
  // A key that is rejected once is no part of an outage that comes and goes.
  const often = recent.filter(({ kind }) => kind === last?.kind);
  if (last === undefined || notified.has(last.id) || often.length < FLAPS) return allBut([]);
  const untold = often.filter(({ id }) => !notified.has(id));
  const parts = untold.slice(0, -1).map(({ id }) => id);
  const item = { alert: { ...last, endedAtMs: undefined }, notified: undefined, parts, isFlapping: true };
  return [...allBut(untold), item];
}

/** It was told that it flaps: what is alike since then belongs to it, until it stays as it is or something else is told. */
function flappingItems(
  oldestFirst: readonly Forgotten[],
  notified: Notified,
  allBut: (some: readonly Alert[]) => readonly Item[],
  { notified: all, receiver, nowMs }: Question,
): readonly Item[] {
  const { alert: id, kind, startedAtMs } = notified;
  const flaps = oldestFirst.filter(
    (each) =>
      each.kind === kind &&
      each.startedAtMs > startedAtMs - FLAP_WINDOW_MS &&
      (each.id === id || !isOpen(all.get(each.id))),
  );
  const known = flaps.filter(({ isForgotten }) => !isForgotten);
  const newest = known.at(-1);
  if (newest === undefined) return allBut([]);
  const others = allBut(flaps);
  const parts = flaps.flatMap((each) => (each.id === id || all.has(each.id) ? [] : [each.id]));
  const { endedAtMs } = newest;
  const next = others.flatMap(({ alert }) =>
    alert.endedAtMs === undefined ? [alert.startedAtMs + afterMs(alert.kind, receiver)] : [],
  );
  const steadyAtMs =
    endedAtMs === undefined ? newest.startedAtMs + STEADY_MS : Math.min(endedAtMs + STEADY_MS, ...next);
  const isFlapping = steadyAtMs > nowMs;
  if (!isFlapping && endedAtMs === undefined)
    return [
      { alert: newest, notified, parts: parts.filter((part) => part !== newest.id), steadyAtMs },
      ...others,
    ];
  const says = `It failed ${known.length < flaps.length ? "more than " : ""}${known.length} times.`;
  const whole = { ...newest, id, startedAtMs, says, ...(isFlapping && { endedAtMs: undefined }) };
  return [{ alert: whole, notified, parts, isFlapping, steadyAtMs }, ...others];
}

/** Its step through the table, and when. Without an event nobody is told, and the step is taken all the same. */
function dueOf(
  item: Item,
  isNewest: boolean,
  endBefore: Notified | undefined,
  question: Question,
): (Omit<Due, "event"> & { readonly event: NotifiedEvent | undefined }) | undefined {
  const { alert, notified, parts } = item;
  const known = notified?.state ?? "new";
  const transition = TRANSITIONS[known][signalOf(item, isNewest, question)];
  if (transition === undefined || (known === "new" && !isNews(alert, question))) return undefined;
  const { tell, next } = transition;
  const event = eventOf(tell, alert.kind, notified, question.receiver.on);
  const dueMs = dueAtMsOf(tell, item, endBefore, question);
  const state = question.upstream(alert.upstream ?? "")?.state;
  const isGone = alert.isUnwatched === true && state === undefined;
  const isUnclear = alert.isUnwatched === true && state !== undefined && !isUp(state);
  const isReminder = tell === "what it is, again";
  return { alert, notified, parts, event, dueMs, isReminder, isGone, isUnclear, next };
}

function signalOf({ alert, notified, isFlapping }: Item, isNewest: boolean, question: Question): Signal {
  const { kind, endedAtMs, isUnwatched, upstream } = alert;
  if (isFlapping) return "flaps";
  const { state = "up" } = (upstream !== undefined && question.upstream(upstream)) || {};
  if (endedAtMs === undefined) {
    if (isState(kind) && state === "unknown") return "is unseen";
    const isWorseNow = notified?.state === "notified" && isWorse(kind, notified.kind);
    return isWorseNow && question.receiver.on.includes(kind) ? "is worse" : "goes on";
  }
  if (!isUnwatched || !isNewest) return "is over";
  return isUp(state) ? "is over" : "is unseen";
}

function isUp(state: HealthState): boolean {
  return state === "up" || state === "degraded";
}

/** Of what was not told yet. */
function isNews(alert: Alert, { receiver, sinceMs, nowMs }: Question): boolean {
  const { kind, startedAtMs, endedAtMs, heldAtMs = Infinity } = alert;
  const longEnoughMs = afterMs(kind, receiver);
  // Whether we are offline is told when we are back. A credit may no longer be ending, and not be over yet.
  if (endedAtMs === undefined) return kind !== "offline" && heldAtMs - startedAtMs >= longEnoughMs;
  return endedAtMs >= sinceMs && endedAtMs > nowMs - NEWS_MS && endedAtMs - startedAtMs >= longEnoughMs;
}

function afterMs(kind: AlertKind, { afterMs: configuredMs }: Receiver): number {
  return kind === "throttled" ? Math.max(configuredMs, THROTTLED_AFTER_MS) : configuredMs;
}

function dueAtMsOf(tell: Tell, item: Item, endBefore: Notified | undefined, question: Question): number {
  const { alert, notified, steadyAtMs } = item;
  const { receiver, nowMs } = question;
  const { kind, upstream, startedAtMs, endedAtMs = startedAtMs, knownAtMs } = alert;
  const isReminder = tell === "what it is, again";
  if (isReminder && (receiver.remindMs === undefined || isForGood(kind))) return Infinity;
  const toldAtMs = notified?.atMs ?? Number.NEGATIVE_INFINITY;
  // Where it is of the future, the clock was set back: nobody knows how long it has waited.
  const latestMs = isReminder ? toldAtMs : Math.max(startedAtMs, endedAtMs, knownAtMs);
  if (latestMs > nowMs) return nowMs - HOUR_MS;
  switch (tell) {
    case "what it is, again":
      return toldAtMs + (receiver.remindMs ?? Infinity);
    case "that it is over":
    case "what it was":
      return steadyAtMs ?? latestMs;
    case "what it is":
    case "that it flaps": {
      if (notified !== undefined) return steadyAtMs ?? Math.max(toldAtMs, knownAtMs);
      const isUnsure =
        isState(kind) && upstream !== undefined && question.upstream(upstream)?.isUnsure === true;
      const sureAtMs = isUnsure ? startedAtMs + UNSURE_MS : 0;
      const againAtMs = kind === "api_ending" && endBefore !== undefined ? endBefore.atMs + END_AGAIN_MS : 0;
      return Math.max(startedAtMs + afterMs(kind, receiver), sureAtMs, againAtMs, knownAtMs);
    }
    default:
      return tell satisfies never;
  }
}
