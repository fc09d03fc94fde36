/**
 * What a leader leaves for the next one: what the state file keeps for a restart, as rows of a kind, a key and JSON. Times
 * of pauses and limits are shifted by the difference of the two wall clocks, so that they last as long as they did when
 * they were written, or longer. Calendar hours, incidents and what was told stay as they are: people read them.
 */

import { allUsed, NOBODY_KNOWS, type QuotaRow, QUOTAS_OF } from "../quota/quota.ts";
import { type BudgetRecord, laterBy, NOTHING_HELD, recordIn } from "../hints/record.ts";
import {
  count,
  flag,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  readOne,
  readRows,
  Row,
  text,
  whole,
} from "../../kernel/text/rows.ts";
import { isOpen, notifiedIn } from "../notify/plan/transitions.ts";
import { HEALTH_STATES } from "../../kernel/poll/health.ts";
import type { SeenBefore } from "./incidents.ts";
import type { Standing } from "./state.ts";

export type Handover = Standing & {
  /** The upstreams that were not well. */
  readonly seen: ReadonlyMap<string, SeenBefore>;
};

/** What is needed least comes last, and is left out first. */
const KINDS = ["quota", "lost_hour", "budget", "pause", "receiver", "open", "upstream", "closed"] as const;
type Kind = (typeof KINDS)[number];
type Written = readonly [kind: Kind, key: string, json: unknown];

/** The register takes 256 KiB, with what else is noted there. */
const MOST_BYTES = 192 * 1_024;

export type Facts = { readonly atMs: number; readonly rows: readonly Written[] };

/** `leftOut`: so many rows had no room. */
export function factsOf(
  handover: Handover,
  wallMs: number,
): { readonly facts: Facts; readonly leftOut: number } {
  const all = [...rowsOf(handover)].toSorted(([one], [other]) => KINDS.indexOf(one) - KINDS.indexOf(other));
  const rows: Written[] = [];
  let bytes = 0;
  for (const row of all) {
    bytes += new TextEncoder().encode(JSON.stringify(row)).length + 1;
    if (bytes > MOST_BYTES) break;
    rows.push(row);
  }
  return { facts: { atMs: Math.round(wallMs), rows }, leftOut: all.length - rows.length };
}

function* rowsOf({ quotas, budgets, pauses, notifications, seen }: Handover): Generator<Written> {
  for (const [key, rows] of Map.groupBy(quotas.rows, ({ of, budget }) => `${of} ${budget}`))
    yield [
      "quota",
      key,
      rows.map(({ hour, ...each }) => [hour, each.requests, each.unconfirmed].map(storedUnits)),
    ];
  for (const hour of quotas.lostHours) yield ["lost_hour", String(hour), hour];
  for (const [budget, record] of budgets) if (record !== NOTHING_HELD) yield ["budget", budget, record];
  for (const [upstream, record] of pauses) yield ["pause", upstream, record.pausedUntilMs];
  for (const [receiver, sinceMs] of notifications.since) yield ["receiver", receiver, sinceMs];
  const newestFirst = notifications.notified.toSorted((one, other) => other.atMs - one.atMs);
  for (const each of newestFirst)
    yield [isOpen(each) ? "open" : "closed", `${each.receiver} ${each.alert}`, each];
  for (const [upstream, seenBefore] of seen) yield ["upstream", upstream, seenBefore];
}

/** JSON has no infinity. */
const UNKNOWN = -1;

function storedUnits(units: number): number {
  return units === NOBODY_KNOWS ? UNKNOWN : units;
}

function unitsOf(stored: number): number {
  return stored === UNKNOWN ? NOBODY_KNOWS : count(stored);
}

/** Undefined where they are none of ours. What cannot be read costs its row. */
export function readFacts(
  facts: unknown,
  wallMs: number,
): (Handover & { readonly atMs: number }) | undefined {
  const read = readOne(
    facts,
    objectOf((row) => ({ atMs: row.get("atMs", number), rows: row.get("rows", listOf(writtenIn)) })),
  );
  if (read === undefined) return undefined;
  const { atMs, rows } = read;
  const byMs = wallMs - atMs;
  const of = <Read>(kind: Kind, read: (row: Row) => Read): readonly Read[] =>
    readRows(
      rows.filter((row) => row[0] === kind).map(([, key, json]) => ({ key, json })),
      read,
    );
  const named = <Read>(kind: Kind, check: (json: unknown) => Read): ReadonlyMap<string, Read> =>
    new Map(of(kind, (row) => [row.get("key", text), row.get("json", check)] as const));
  return {
    atMs,
    quotas: {
      rows: of("quota", (row) => quotaRowsIn(row)).flat(),
      lostHours: of("lost_hour", (row) => row.get("json", whole)),
    },
    budgets: named("budget", (json) => laterBy(objectOf(recordIn)(json), byMs)),
    pauses: named("pause", (json) => ({ pausedUntilMs: number(json) + byMs })),
    notifications: {
      since: named("receiver", number),
      notified: [...of("open", (row) => row), ...of("closed", (row) => row)].flatMap((row) =>
        readRows([row.get("json", (json) => json)], notifiedIn),
      ),
    },
    seen: named("upstream", objectOf(seenIn)),
  };
}

function writtenIn(written: unknown): Written {
  const [kind, key, json] = listOf((each: unknown) => each)(written);
  return [oneOf(KINDS)(kind), text(key), json];
}

function quotaRowsIn(row: Row): readonly QuotaRow[] {
  const [of = "", budget = ""] = row.get("key", text).split(" ");
  const key = { of: oneOf(QUOTAS_OF)(of), budget };
  return row.get("json", listOf(listOf(whole))).map(([hour = 0, requests = 0, unconfirmed = 0]) => ({
    ...key,
    hour,
    requests: unitsOf(requests),
    unconfirmed: unitsOf(unconfirmed),
  }));
}

const state = oneOf(HEALTH_STATES);

function seenIn(row: Row): SeenBefore {
  return {
    state: row.get("state", state),
    isUp: row.get("isUp", optional(flag)),
    sinceMs: row.get("sinceMs", optional(number)),
    lastPollAtMs: row.get("lastPollAtMs", optional(number)),
    knownUntilMs: row.get("knownUntilMs", number),
    incident: row.get(
      "incident",
      optional(
        objectOf((incident) => ({
          state: incident.get("state", state),
          reason: incident.get("reason", text),
          startedAtMs: incident.get("startedAtMs", number),
          polls: incident.get("polls", count),
        })),
      ),
    ),
  };
}

/** What two homes keep: of two the stricter, and the newer of what was told. */
export function joined(one: Standing, other: Standing): Standing {
  return {
    quotas: {
      rows: [
        ...newest([...one.quotas.rows, ...other.quotas.rows], quotaKey, ({ requests }) => requests).values(),
      ],
      lostHours: [...new Set([...one.quotas.lostHours, ...other.quotas.lostHours])],
    },
    budgets: bothOf(one.budgets, other.budgets, stricterOf),
    pauses: bothOf(one.pauses, other.pauses, (a, b) => (a.pausedUntilMs > b.pausedUntilMs ? a : b)),
    notifications: {
      since: bothOf(one.notifications.since, other.notifications.since, Math.min),
      notified: [
        ...newest(
          [...one.notifications.notified, ...other.notifications.notified],
          ({ receiver, alert }) => `${receiver} ${alert}`,
          ({ atMs }) => atMs,
        ).values(),
      ],
    },
  };
}

/** The leader's notes are gone, though there was one: of every quota, all counts as used. */
export function withAllUsed({ quotas, ...rest }: Standing, wallMs: number): Standing {
  return { ...rest, quotas: allUsed(quotas, wallMs) };
}

function quotaKey({ of, budget, hour }: QuotaRow): string {
  return `${hour} ${of} ${budget}`;
}

function newest<Each>(
  all: readonly Each[],
  keyOf: (each: Each) => string,
  rankOf: (each: Each) => number,
): ReadonlyMap<string, Each> {
  const kept = new Map<string, Each>();
  for (const each of all) {
    const known = kept.get(keyOf(each));
    if (known === undefined || rankOf(each) > rankOf(known)) kept.set(keyOf(each), each);
  }
  return kept;
}

function bothOf<Each>(
  one: ReadonlyMap<string, Each>,
  other: ReadonlyMap<string, Each>,
  join: (a: Each, b: Each) => Each,
): ReadonlyMap<string, Each> {
  const both = new Map(one);
  for (const [key, each] of other) {
    const known = both.get(key);
    both.set(key, known === undefined ? each : join(known, each));
  }
  return both;
}

function stricterOf(one: BudgetRecord, other: BudgetRecord): BudgetRecord {
  const most = (of: (record: BudgetRecord) => number): number => Math.max(of(one), of(other));
  return {
    pausedUntilMs: most(({ pausedUntilMs }) => pausedUntilMs),
    yieldUntilMs: most(({ yieldUntilMs }) => yieldUntilMs),
    refusals: most(({ refusals }) => refusals),
    refusedUntilMs: most(({ refusedUntilMs }) => refusedUntilMs),
    lowered: [...one.lowered, ...other.lowered],
    untold:
      (one.untold?.requests ?? Infinity) < (other.untold?.requests ?? Infinity) ? one.untold : other.untold,
    windows: [...new Map([...one.windows, ...other.windows].map((window) => [window.key, window])).values()],
    upstreams: [...new Set([...one.upstreams, ...other.upstreams])],
  };
}
