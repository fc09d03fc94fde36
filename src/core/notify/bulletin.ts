/** What the replica that tells people of a whole fleet knows from the others: texts on the board. */

import { SIDES } from "../exchange/reasons.ts";
import {
  flag,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  readText,
  type Row,
  text,
  whole,
} from "../exchange/rows.ts";
import { HEALTH_STATES } from "../poll/health.ts";
import type { Incident } from "../status/status.ts";
import type { Words } from "./message.ts";
import { type Alert, ALERT_KINDS, type Condition } from "./alert.ts";
import { isOpen, type Notified, notifiedIn, type Remembered } from "./transitions.ts";

/** Of one upstream, by whoever polls it. */
export type Bulletin = {
  /** The newest first. */
  readonly incidents: readonly Incident[];
  readonly conditions: readonly Condition[];
  /** It failed, and the failure may be that replica's own network's. */
  readonly isUnsure: boolean;
  /** Of an incident that is open. */
  readonly words: Words | undefined;
};

/** More than an upstream or a replica has of them. */
const MOST_CONDITIONS = 100;
const MOST_LINES = 10;
/** As names of the config, and two of them: they come into the titles of messages. */
const NAMES = /^[A-Za-z0-9._/-]{1,150}$/;

export function bulletinText({ incidents, conditions, ...rest }: Bulletin): string | undefined {
  if (incidents.length === 0 && conditions.length === 0) return undefined;
  return JSON.stringify({ incidents, conditions, ...rest });
}

/** Whoever writes to the board invents no upstream: of another one nothing is taken. */
export function readBulletin(upstream: string, written: string): Bulletin | undefined {
  return readText(written, (row) => ({
    incidents: row.get("incidents", listOf(objectOf((each) => incidentIn(upstream, each)))),
    conditions: conditionsIn(row).filter((condition) => (condition.upstream ?? upstream) === upstream),
    isUnsure: row.get("isUnsure", flag),
    words: row.get("words", optional(objectOf(wordsIn))),
  }));
}

function incidentIn(upstream: string, row: Row): Incident {
  return {
    upstream,
    state: row.get("state", oneOf(HEALTH_STATES)),
    reason: row.get("reason", text),
    startedAtMs: row.get("startedAtMs", number),
    endedAtMs: row.get("endedAtMs", optional(number)),
    ...(row.get("isUnwatched", optional(flag)) && { isUnwatched: true }),
    polls: row.get("polls", whole),
  };
}

function conditionsIn(row: Row): readonly Condition[] {
  const written = row.get("conditions", listOf(objectOf(conditionIn))).slice(0, MOST_CONDITIONS);
  return written.filter(({ of }) => of === undefined || NAMES.test(of));
}

function conditionIn(row: Row): Condition {
  return {
    kind: row.get("kind", oneOf(ALERT_KINDS)),
    upstream: row.get("upstream", optional(text)),
    of: row.get("of", optional(text)),
    says: row.get("says", text),
    isNear: row.get("isNear", optional(flag)),
    sinceMs: row.get("sinceMs", optional(number)),
  };
}

function wordsIn(row: Row): Words {
  return { side: row.get("side", oneOf(SIDES)), lines: row.get("lines", listOf(text)).slice(0, MOST_LINES) };
}

const RECEIVERS = "n:";
/** The board has so many of a subject for each receiver: more than a bulletin has incidents. */
const MOST_NOTIFIED = 20;

/** By name on the board: since when each receiver is known, and what it was told, by subject. */
export function* notifiedRecords({ since, notified }: Remembered): Generator<readonly [string, string]> {
  yield [
    RECEIVERS,
    JSON.stringify({ since: [...since].map(([receiver, sinceMs]) => ({ receiver, sinceMs })) }),
  ];
  for (const [subject, all] of Map.groupBy(notified, (each) => each.subject)) {
    const oldestFirst = all.toSorted((one, other) => one.startedAtMs - other.startedAtMs);
    const byReceiver = Map.groupBy(oldestFirst, ({ receiver }) => receiver);
    const newest = [...byReceiver.values()].flatMap((some) => some.slice(-MOST_NOTIFIED));
    yield [RECEIVERS + subject, JSON.stringify({ notified: newest })];
  }
}

/** Undefined where nobody ever told anything, or the board has lost it. */
export function rememberedIn(records: ReadonlyMap<string, string>): Remembered | undefined {
  const known = readText(records.get(RECEIVERS) ?? "", (row) =>
    row.get(
      "since",
      listOf(objectOf((each) => [each.get("receiver", text), each.get("sinceMs", number)] as const)),
    ),
  );
  if (known === undefined) return undefined;
  const notified = [...records].flatMap(([name, written]) =>
    name.startsWith(RECEIVERS)
      ? (readText(written, (row) => row.get("notified", optional(listOf(objectOf(notifiedIn))))) ?? [])
      : [],
  );
  return { since: new Map(known), notified };
}

export type Renamed = Pick<Alert, "id" | "startedAtMs">;

/** What this replica saw at the time of what another one has told of is the same: by its id here, it has that one's. */
export function renamedBy(
  notified: readonly Notified[],
  alertsOf: (upstream: string) => readonly Alert[],
): ReadonlyMap<string, Renamed> {
  const ids = new Set(notified.map(({ alert }) => alert));
  const renamed = new Map<string, Renamed>();
  for (const each of notified) {
    const { subject, alert: id, startedAtMs, atMs } = each;
    const own = alertsOf(subject);
    const nearness = (alert: Alert): number => Math.abs(alert.startedAtMs - startedAtMs);
    const [nearest] = own
      .filter((alert) => !ids.has(alert.id) && !renamed.has(alert.id))
      .filter(
        (alert) =>
          startedAtMs <= (alert.endedAtMs ?? Infinity) && (isOpen(each) || alert.startedAtMs <= atMs),
      )
      .toSorted((one, other) => nearness(one) - nearness(other));
    if (nearest !== undefined && own.every((alert) => alert.id !== id))
      renamed.set(nearest.id, { id, startedAtMs });
  }
  return renamed;
}

const REPLICA = "r:";

/** What is wrong with a replica itself. */
export function conditionsRecord(
  replica: string,
  conditions: readonly Condition[],
): readonly [string, string] {
  return [REPLICA + replica, JSON.stringify({ conditions })];
}

export function conditionsOf(replica: string, records: ReadonlyMap<string, string>): readonly Condition[] {
  if (!NAMES.test(replica)) return [];
  const written = records.get(REPLICA + replica) ?? "";
  return (readText(written, conditionsIn) ?? []).map((condition) => ({
    ...condition,
    upstream: undefined,
    replica,
  }));
}
