/** What the replica that tells people of a whole fleet knows from the others: texts on the board. */

import { RECEIVER_EVENTS } from "../config/config.ts";
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
import { type Notice, TOLD_EVENTS, type ToldBefore } from "./plan.ts";
import type { Condition } from "./trouble.ts";

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
    kind: row.get("kind", oneOf(RECEIVER_EVENTS.filter((event) => event !== "up"))),
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

/** All of a notice that is no column of its own in the state file. */
export function noticeIn(row: Row): Omit<Notice, "receiver" | "incident" | "atMs" | "isOpen"> {
  return {
    subject: row.get("subject", text),
    upstream: row.get("upstream", optional(text)),
    startedAtMs: row.get("startedAtMs", number),
    event: row.get("event", oneOf(TOLD_EVENTS)),
    thread: row.get("thread", text),
    side: row.get("side", oneOf(SIDES)),
  };
}

const RECEIVERS = "n:";
/** Each receiver has so many notices of a subject on the board: more than a bulletin has incidents. */
const MOST_NOTICES = 20;

/** By name on the board: since when each receiver is known, and what it was told, by subject. */
export function* toldRecords({ since, notices }: ToldBefore): Generator<readonly [string, string]> {
  yield [
    RECEIVERS,
    JSON.stringify({ since: [...since].map(([receiver, sinceMs]) => ({ receiver, sinceMs })) }),
  ];
  for (const [subject, all] of Map.groupBy(notices, (notice) => notice.subject)) {
    const oldestFirst = all.toSorted((one, other) => one.startedAtMs - other.startedAtMs);
    const byReceiver = Map.groupBy(oldestFirst, ({ receiver }) => receiver);
    const newest = [...byReceiver.values()].flatMap((some) => some.slice(-MOST_NOTICES));
    yield [RECEIVERS + subject, JSON.stringify({ notices: newest })];
  }
}

/** Undefined where nobody ever told anything, or the board has lost it. */
export function toldIn(records: ReadonlyMap<string, string>): ToldBefore | undefined {
  const known = readText(records.get(RECEIVERS) ?? "", (row) =>
    row.get(
      "since",
      listOf(objectOf((each) => [each.get("receiver", text), each.get("sinceMs", number)] as const)),
    ),
  );
  if (known === undefined) return undefined;
  const notices = [...records].flatMap(([name, written]) =>
    name.startsWith(RECEIVERS)
      ? (readText(written, (row) => row.get("notices", optional(listOf(objectOf(boardNoticeIn))))) ?? [])
      : [],
  );
  return { since: new Map(known), notices };
}

function boardNoticeIn(row: Row): Notice {
  return {
    receiver: row.get("receiver", text),
    incident: row.get("incident", text),
    atMs: row.get("atMs", number),
    isOpen: row.get("isOpen", flag),
    ...noticeIn(row),
  };
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
