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

export function lockRecordIn(text: string | undefined): SeenRecord {
  if (text === undefined) return undefined;
  const { life, term, n, ttlMs, isFree, name, url, digest, sinceWallMs } = fieldsIn(text, FORMAT) ?? {};
  if (life !== null && typeof life !== "string") return "foreign";
  if (!isCount(term) || typeof n !== "string" || typeof isFree !== "boolean") return "foreign";
  if (!isCount(ttlMs) || ttlMs < 1 || ttlMs > LONGEST_TTL_MS) return "foreign";
  if (typeof name !== "string" || typeof digest !== "string" || !isCount(sinceWallMs)) return "foreign";
  const at = typeof url === "string" ? url : undefined;
  return { life, term, n, ttlMs, isFree, person: { name, url: at, digest, sinceWallMs } };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Of a JSON object of this format. */
export function fieldsIn(text: string, format: number): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  return value["format"] === format ? value : undefined;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
