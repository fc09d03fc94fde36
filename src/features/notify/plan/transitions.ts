/**
 * What each receiver knows of each alert, and what it is to be told. Only the answer of a receiver that took the message
 * leads on to the next state. So nothing waits in a queue: while a receiver fails, nothing changes but the alerts, and
 * once it is back it is told by the same table what is so by then.
 */

import type { ReceiverEvent } from "../receiver.ts";
import { type Left, type Note, type NoteKind, notesOf } from "../../../kernel/text/notes.ts";
import { number, objectOf, oneOf, optional, type Row, text } from "../../../kernel/text/rows.ts";
import { DAY_MS } from "../../../kernel/time/duration.ts";
import { ALERT_KINDS, type AlertKind, isForGood } from "./alert.ts";

export type State =
  /** It was told nothing of it yet. */
  | "new"
  /** It was told what it is, and is to be told of its end. */
  | "notified"
  /** It was told that it comes and goes, and is to be told once it stays as it is. */
  | "flapping"
  /** There is nothing more to tell of it. */
  | "closed";

/** How an alert is now. */
export type Signal =
  | "goes on"
  /** It goes on, and is worse than what was told. */
  | "is worse"
  | "flaps"
  | "is over"
  /** It ended, or goes on: nobody has looked since. */
  | "is unseen";

export type Tell = "what it is" | "that it flaps" | "that it is over" | "what it was" | "what it is, again";

export type Transition = {
  readonly tell: Tell;
  /** Once that was told. */
  readonly next: Exclude<State, "new">;
};

/** Where nothing stands, nothing is told, and nothing changes. */
export const TRANSITIONS: Readonly<Record<State, Readonly<Partial<Record<Signal, Transition>>>>> = {
  new: {
    "goes on": { tell: "what it is", next: "notified" },
    flaps: { tell: "that it flaps", next: "flapping" },
    "is over": { tell: "what it was", next: "closed" },
  },
  notified: {
    "goes on": { tell: "what it is, again", next: "notified" },
    "is worse": { tell: "what it is", next: "notified" },
    "is over": { tell: "that it is over", next: "closed" },
  },
  flapping: {
    "goes on": { tell: "what it is", next: "notified" },
    flaps: { tell: "what it is, again", next: "flapping" },
    "is over": { tell: "that it is over", next: "closed" },
  },
  closed: {},
};

export type NotifiedEvent = ReceiverEvent | "flapping";

/** What a receiver knows of one alert. */
export type Notified = {
  readonly receiver: string;
  /** The id of the alert. */
  readonly alert: string;
  readonly state: Exclude<State, "new">;
  readonly subject: string;
  readonly upstream: string | undefined;
  /** As which it was told last. */
  readonly kind: AlertKind;
  readonly startedAtMs: number;
  /** When it was told something last, or when there was nothing more to tell. */
  readonly atMs: number;
  /** The id that it was told under: all of one message share it, and it ends under it. */
  readonly thread: string;
};

/** What earlier processes left. */
export type Remembered = {
  /** When each receiver was first known. Wall clock. */
  readonly since: ReadonlyMap<string, number>;
  readonly notified: readonly Notified[];
};

/** By receiver: since when it is known. */
const RECEIVERS: NoteKind<number> = { name: "receiver", read: number, merge: Math.min };

/** By receiver and alert. */
const TOLD: NoteKind<Notified> = {
  name: "told",
  read: objectOf(notifiedIn),
  merge: (one, other) => (other.atMs > one.atMs ? other : one),
};

export function rememberedIn(homes: readonly Left[]): Remembered {
  return { since: notesOf(RECEIVERS, homes), notified: [...notesOf(TOLD, homes).values()] };
}

export function receiverNote(receiver: string, sinceMs: number): Note {
  return { kind: RECEIVERS.name, key: receiver, json: sinceMs };
}

/** What is over and was told is no news two days later. */
export const FORGOTTEN_MS: number = 2 * DAY_MS;
/** An incident is not shown for longer. */
const OPEN_FORGOTTEN_MS: number = 400 * DAY_MS;

export function toldNote(notified: Notified): Note {
  const { receiver, alert, atMs } = notified;
  const note = { kind: TOLD.name, key: `${receiver} ${alert}`, json: notified };
  return isOpen(notified)
    ? { ...note, untilMs: atMs + OPEN_FORGOTTEN_MS }
    : { ...note, untilMs: atMs + FORGOTTEN_MS, isLeast: true };
}

function notifiedIn(row: Row): Notified {
  return {
    receiver: row.get("receiver", text),
    alert: row.get("alert", text),
    state: row.get("state", oneOf(["notified", "flapping", "closed"])),
    subject: row.get("subject", text),
    upstream: row.get("upstream", optional(text)),
    kind: row.get("kind", oneOf(ALERT_KINDS)),
    startedAtMs: row.get("startedAtMs", number),
    atMs: row.get("atMs", number),
    thread: row.get("thread", text),
  };
}

export function isOpen(notified: Pick<Notified, "state"> | undefined): boolean {
  return notified !== undefined && notified.state !== "closed";
}

/** By which event; undefined where the receiver wants to know nothing of it, and goes on to the next state unasked. */
export function eventOf(
  tell: Tell,
  kind: AlertKind,
  notified: Notified | undefined,
  wanted: readonly ReceiverEvent[],
): NotifiedEvent | undefined {
  const hasEnds = wanted.includes("up");
  switch (tell) {
    case "what it is":
      return kind;
    case "that it flaps":
      return "flapping";
    case "what it is, again":
      return notified?.state === "flapping" ? "flapping" : (notified?.kind ?? kind);
    case "that it is over":
      return hasEnds && !isForGood(kind) ? "up" : undefined;
    case "what it was":
      return hasEnds && kind !== "offline" ? "up" : kind;
    default:
      return tell satisfies never;
  }
}
