import type { Left, Note, NoteHome } from "../../kernel/text/notes.ts";
import { anyList, listOf, number, objectOf, readOne, type Row, text } from "../../kernel/text/rows.ts";
import type { Reign } from "./lead/reign.ts";
import type { Log } from "../../kernel/text/log.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time/duration.ts";
import { sharedNext } from "../../platform/shared-work.ts";

/** Around the rows, when they were written is noted. */
export const BYTES_OF_MOMENT = 100;

type Written = readonly [kind: string, key: string, json: unknown];

/** As many as have room, in their order, but counts first. Behind one that has none, all are left out. */
export function rowsOf(notes: readonly Note[], mostBytes: number): readonly Written[] {
  const rank = ({ isCount, isLeast }: Note): number => (isCount === true ? 0 : isLeast === true ? 2 : 1);
  const sorted = [...notes].sort((one, other) => rank(one) - rank(other));
  return firstOf(
    sorted.map(({ kind, key, json }) => [kind, key, json] as const),
    mostBytes,
  );
}

function firstOf<Row>(rows: readonly Row[], mostBytes: number): readonly Row[] {
  let bytes = 0;
  const tooMany = rows.findIndex((row) => {
    bytes += new TextEncoder().encode(JSON.stringify(row)).length + 1;
    return bytes > mostBytes;
  });
  return tooMany === -1 ? rows : rows.slice(0, tooMany);
}

/** What a leader noted, or the one before it, where less has room now. */
export function fitting(facts: unknown, mostBytes: number): unknown {
  const read = readOne(facts, objectOf(factsIn));
  return read && { ...read, rows: firstOf(read.rows, mostBytes - BYTES_OF_MOMENT) };
}

function factsIn(row: Row): { readonly atMs: number; readonly rows: readonly unknown[] } {
  return { atMs: row.get("atMs", number), rows: row.get("rows", anyList) };
}

/** What the leader before noted. Undefined where it is none of ours. */
export function leftIn(facts: unknown, wallMs: number): (Left & { readonly atMs: number }) | undefined {
  const read = readOne(
    facts,
    objectOf((row) => ({ atMs: row.get("atMs", number), notes: row.get("rows", listOf(noteIn)) })),
  );
  // Its times are by another wall clock.
  return read && { ...read, laterByMs: wallMs - read.atMs };
}

function noteIn(written: unknown): Note {
  const [kind, key, json] = anyList(written);
  return { kind: text(kind), key: text(key), json };
}

const WRITES_EVERY_MS = 10 * SECOND_MS;
/** What is noted lasts from when it was written: it is written again, also where nothing has changed. */
const AGAIN_AFTER_MS = MINUTE_MS;
/** Whoever leads next would tell it again. */
const TOLD_WITHIN_MS = SECOND_MS;
const OTHERS_LEFT_OUT = "not all that the next leader should know has room in its notes";
const COUNTS_LEFT_OUT =
  "not all counts of quotas have room in the notes for the next leader: what counts against a quota or a spend is not sent";

/** Beside what cannot wait. */
const MOST_BYTES_PER_SECOND = 10_000;

/** A reign, as what polls while it lasts sees it. */
export function leadingOf(reign: Reign, parts: Pick<HandoverParts, "clock" | "log">): Leading {
  return {
    startsAtMs: (budget) => reign.startsAtMs(budget),
    maySend: (budget) => reign.maySend(budget),
    termsChanged: () => reign.termsChanged(),
    left: leftIn(reign.left, parts.clock.wallNow()),
    isLoss: reign.isLoss,
    home: (read, ended) => new HandoverHome({ ...parts, reign, read, ended }),
  };
}

export type Leading = Pick<Reign, "startsAtMs" | "maySend" | "termsChanged" | "isLoss"> & {
  readonly left: ReturnType<typeof leftIn>;
  home(read: HandoverParts["read"], ended: AbortSignal): HandoverHome;
};

export type HandoverParts = {
  readonly reign: Pick<Reign, "write" | "mostBytes">;
  readonly clock: Clock;
  readonly log: Log;
  /** What is needed most comes first. */
  readonly read: () => readonly Note[];
  readonly ended: AbortSignal;
};

/** Where the next leader finds what it must know. Each write is of all of it. */
export class HandoverHome implements NoteHome {
  readonly #parts: HandoverParts;
  readonly #next = sharedNext(() => this.#write());
  #wake = new AbortController();
  #dueMs: number;
  #written = "";
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #told = "";

  constructor(parts: HandoverParts) {
    this.#parts = parts;
    this.#dueMs = parts.clock.now() + WRITES_EVERY_MS;
    void this.#keepWriting();
  }

  /** A pause, and what counts: the caller waits for it. False also while a count has no room. */
  write(_notes: readonly Note[] = []): Promise<boolean> {
    return this.#next();
  }

  /** Of what has not changed, too: how long it lasts counts from its writing. */
  leave(): Promise<boolean> {
    this.#written = "";
    return this.write();
  }

  told(): void {
    this.#dueMs = Math.min(this.#dueMs, this.#parts.clock.now() + Math.max(TOLD_WITHIN_MS, this.#bytesMs));
    this.#wake.abort();
  }

  get #bytesMs(): number {
    return (this.#written.length / MOST_BYTES_PER_SECOND) * SECOND_MS;
  }

  async #keepWriting(): Promise<void> {
    const { clock, ended } = this.#parts;
    while (!ended.aborted) {
      const waitMs = this.#dueMs - clock.now();
      if (waitMs > 0) {
        this.#wake = new AbortController();
        await clock.sleep(waitMs, AbortSignal.any([ended, this.#wake.signal]));
        continue;
      }
      this.#dueMs = clock.now() + Math.max(WRITES_EVERY_MS, this.#bytesMs);
      await this.write();
    }
  }

  async #write(): Promise<boolean> {
    const { reign, clock, read } = this.#parts;
    const notes = read();
    const rows = rowsOf(notes, reign.mostBytes - BYTES_OF_MOMENT);
    const lacksCount = rows.length < notes.filter(({ isCount }) => isCount === true).length;
    this.#tellLeftOut(notes.length - rows.length, lacksCount);
    const written = JSON.stringify(rows);
    if (written === this.#written && clock.now() - this.#writtenAtMs < AGAIN_AFTER_MS) return !lacksCount;
    this.#written = written;
    this.#writtenAtMs = clock.now();
    const isWritten = await reign.write({ atMs: Math.round(clock.wallNow()), rows });
    if (!isWritten) this.#written = "";
    return isWritten && !lacksCount;
  }

  #tellLeftOut(leftOut: number, lacksCount: boolean): void {
    const { log } = this.#parts;
    const said = leftOut === 0 ? "" : lacksCount ? COUNTS_LEFT_OUT : OTHERS_LEFT_OUT;
    if (said !== "" && said !== this.#told) log[lacksCount ? "error" : "warn"]({ leftOut }, said);
    this.#told = said;
  }
}
