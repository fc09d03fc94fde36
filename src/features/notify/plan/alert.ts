/** What somebody is to know of: an incident of an upstream, an end that is coming, and what is wrong with Pacewatch itself. */

import { RECEIVER_EVENTS, type ReceiverEvent } from "../receiver.ts";
import { MINUTE_MS } from "../../../kernel/time/duration.ts";
import type { Incident } from "../../history/incidents.ts";

export type AlertKind = Exclude<ReceiverEvent, "up">;
export const ALERT_KINDS: readonly AlertKind[] = RECEIVER_EVENTS.filter((event) => event !== "up");

export type Alert = {
  /** The same in all that is said of it, by whichever process. */
  readonly id: string;
  /** What it is of, the same each time that it happens. */
  readonly subject: string;
  readonly kind: AlertKind;
  /** Undefined where it is Pacewatch's own. */
  readonly upstream: string | undefined;
  readonly startedAtMs: number;
  readonly endedAtMs: number | undefined;
  /** When it became known, or its end did: an incident begins with a failure that was not confirmed yet. */
  readonly knownAtMs: number;
  /** It was seen last when it ended. */
  readonly isUnwatched?: true;
  readonly incident?: Incident;
  /** Of all others: one sentence, or empty. */
  readonly says: string;
  /** Of a credit: when it was seen to end last. */
  readonly heldAtMs?: number;
};

/** The worst is last. The others are no state of an upstream. */
const STATES: readonly AlertKind[] = ["throttled", "unauthorized", "blocked", "down"];

export function isState(kind: AlertKind): boolean {
  return STATES.includes(kind);
}

export function isWorse(kind: AlertKind, before: AlertKind): boolean {
  return isState(before) && STATES.indexOf(kind) > STATES.indexOf(before);
}

/** These are facts of one moment: nobody waits for their end. */
export function isForGood(kind: AlertKind): boolean {
  return kind === "api_ending" || kind === "state_lost";
}

/** Undefined where it says nothing of the upstream: then we were offline. */
export function alertOf(incident: Incident, knownAtMs: number): Alert | undefined {
  const { upstream, state, reason, startedAtMs } = incident;
  if (reason === "offline") return undefined;
  const kind = state === "down" && reason === "blocked" ? "blocked" : STATES.find((each) => each === state);
  if (kind === undefined) return undefined;
  const { endedAtMs, isUnwatched } = incident;
  const what = { id: idOf(upstream, startedAtMs), subject: upstream, kind, upstream, startedAtMs, endedAtMs };
  return { ...what, knownAtMs, says: "", incident, ...(isUnwatched && { isUnwatched }) };
}

/** Of an alert that is no incident, while it goes on. */
export const NO_INCIDENT = { endedAtMs: undefined, says: "" } as const;

/** A name has no slash. */
function idOf(subject: string, startedAtMs: number): string {
  return `${subject}/${Math.round(startedAtMs).toString(36)}`;
}

/** It fires now, and is no incident. */
export type FiringAlert = {
  readonly kind: AlertKind;
  readonly upstream?: string | undefined;
  /** Of which of several: a value, a quota, a date. */
  readonly of?: string | undefined;
  readonly says: string;
  /** It is near enough to go on, and not to begin: so what hovers around a bound is told once. */
  readonly isNear?: boolean | undefined;
  /** Where that is known by itself. */
  readonly sinceMs?: number | undefined;
};

/** What would be empty just before its refill, and a moment later just after it, is told once. */
const REFILLED_AFTER_MS = 10 * MINUTE_MS;

/** Those that are `open` go on while they fire, and end when they fire no more. */
export function foldFiring(
  open: ReadonlyMap<string, Alert>,
  firing: readonly FiringAlert[],
  nowMs: number,
): { readonly open: ReadonlyMap<string, Alert>; readonly ended: readonly Alert[] } {
  const next = new Map<string, Alert>();
  for (const { kind, upstream, of, says, isNear, sinceMs } of firing) {
    const subject = [upstream ?? "pacewatch", kind, ...(of === undefined ? [] : [of])].join("/");
    const known = open.get(subject);
    if (known === undefined && isNear) continue;
    const startedAtMs = known?.startedAtMs ?? sinceMs ?? nowMs;
    // What is for good is known by what it says, not by when we saw it.
    const id = kind === "api_ending" ? subject : idOf(subject, startedAtMs);
    const knownAtMs = known?.knownAtMs ?? nowMs;
    const held = kind === "credit_ending" && { heldAtMs: nowMs };
    next.set(subject, { ...NO_INCIDENT, id, subject, kind, upstream, startedAtMs, knownAtMs, says, ...held });
  }
  for (const alert of open.values()) {
    const { subject, heldAtMs = Number.NEGATIVE_INFINITY } = alert;
    // Where it is of the future, the clock was set back.
    if (!next.has(subject) && Math.abs(nowMs - heldAtMs) < REFILLED_AFTER_MS) next.set(subject, alert);
  }
  const ended = [...open.values()]
    .filter(({ subject, kind }) => !next.has(subject) && !isForGood(kind))
    .map((alert) => ({
      ...alert,
      endedAtMs: Math.min(alert.heldAtMs ?? nowMs, nowMs),
      knownAtMs: nowMs,
      // What was said of it holds no more, but for what happened meanwhile.
      says: alert.kind === "offline" ? alert.says : "",
    }));
  return { open: next, ended };
}
