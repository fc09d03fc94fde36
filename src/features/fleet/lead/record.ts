import {
  count,
  exactly,
  flag,
  json,
  optional,
  readOne,
  type Row,
  text,
  wholeFrom,
} from "../../../kernel/text/rows.ts";

/** What stands in the lock: who leads, or that nobody does. */
export type LockRecord = {
  /** Of one process, and random, as two may have one name. Null: nobody's. */
  readonly life: string | null;
  readonly term: number;
  /** Random for each write: what was set back to an older state shows as a change. */
  readonly n: string;
  readonly ttlMs: number;
  /** Its writer has stopped, and whoever reads this may take over. */
  readonly isFree: boolean;
};

/** For those who read it, beside what the election needs. */
export type LockPerson = {
  readonly name: string;
  readonly url: string | undefined;
  readonly digest: string;
  /** By the leader's wall clock. */
  readonly sinceWallMs: number;
};

const FORMAT = 1;
const LONGEST_TTL_MS = 3_600_000;

export function lockText(record: LockRecord, person: LockPerson): string {
  return JSON.stringify({ format: FORMAT, ...record, ...person });
}

/** `foreign`: not ours, or written by a newer version. Undefined: nothing stands there. */
export type SeenRecord = (LockRecord & { readonly person?: LockPerson }) | "foreign" | undefined;

export function lockRecordIn(value: string | undefined): SeenRecord {
  return value === undefined ? undefined : (readOne(value, json(recordIn)) ?? "foreign");
}

function recordIn(row: Row): LockRecord & { readonly person: LockPerson } {
  row.get("format", exactly(FORMAT));
  return {
    life: row.get("life", optional(text)) ?? null,
    term: row.get("term", count),
    n: row.get("n", text),
    ttlMs: row.get("ttlMs", wholeFrom(1, LONGEST_TTL_MS)),
    isFree: row.get("isFree", flag),
    person: {
      name: row.get("name", text),
      url: row.get("url", optional(text)),
      digest: row.get("digest", text),
      sinceWallMs: row.get("sinceWallMs", count),
    },
  };
}
