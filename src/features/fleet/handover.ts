import type { Left, Note, NoteHome } from "../../kernel/text/notes.ts";
import { listOf, number, objectOf, readOne, text } from "../../kernel/text/rows.ts";
import type { Reign } from "./lead/reign.ts";
import type { Log } from "../../kernel/text/log.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time/duration.ts";

/** The register takes 256 KiB, with what else is noted there. */
const MOST_BYTES = 192 * 1_024;

type Written = readonly [kind: string, key: string, json: unknown];

/** As much as has room. What is needed least comes last. */
export function rowsOf(notes: readonly Note[]): readonly Written[] {
  const rows: Written[] = [];
  let bytes = 0;
  for (const { kind, key, json } of [...notes].sort(
    (a, b) => Number(a.isLeast === true) - Number(b.isLeast === true),
  )) {
    const row = [kind, key, json] as const;
    bytes += new TextEncoder().encode(JSON.stringify(row)).length + 1;
    if (bytes > MOST_BYTES) break;
    rows.push(row);
  }
  return rows;
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
  const [kind, key, json] = listOf((each: unknown) => each)(written);
  return { kind: text(kind), key: text(key), json };
}

const WRITES_EVERY_MS = 10 * SECOND_MS;
/** What is noted lasts from when it was written: it is written again, also where nothing has changed. */
const AGAIN_AFTER_MS = MINUTE_MS;
/** Whoever leads next would tell it again. */
const TOLD_WITHIN_MS = SECOND_MS;
/** Beside what cannot wait. */
const MOST_BYTES_PER_SECOND = 10_000;

export type HandoverParts = {
  readonly reign: Pick<Reign, "write">;
  readonly clock: Clock;
  readonly log: Log;
  /** What is needed most comes first. */
  readonly read: () => readonly Note[];
  readonly ended: AbortSignal;
};

/** Where the next leader finds what it must know. Each write is of all of it. */
export class HandoverHome implements NoteHome {
  readonly #parts: HandoverParts;
  #writing: Promise<unknown> = Promise.resolve();
  #next: Promise<boolean> | undefined;
  #wake = new AbortController();
  #dueAtMs: number;
  #written = "";
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #isTooMuch = false;

  constructor(parts: HandoverParts) {
    this.#parts = parts;
    this.#dueAtMs = parts.clock.now() + WRITES_EVERY_MS;
    void this.#keepWriting();
  }

  /** A pause, and what counts: the caller waits for it. */
  write(_notes: readonly Note[] = []): Promise<boolean> {
    return (this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      const written = this.#write();
      this.#writing = written;
      return written;
    }));
  }

  /** Of what has not changed, too: how long it lasts counts from its writing. */
  leave(): Promise<boolean> {
    this.#written = "";
    return this.write();
  }

  told(): void {
    this.#dueAtMs = Math.min(
      this.#dueAtMs,
      this.#parts.clock.now() + Math.max(TOLD_WITHIN_MS, this.#bytesMs),
    );
    this.#wake.abort();
  }

  get #bytesMs(): number {
    return (this.#written.length / MOST_BYTES_PER_SECOND) * SECOND_MS;
  }

  async #keepWriting(): Promise<void> {
    const { clock, ended } = this.#parts;
    while (!ended.aborted) {
      const waitMs = this.#dueAtMs - clock.now();
      if (waitMs > 0) {
        this.#wake = new AbortController();
        await clock.sleep(waitMs, AbortSignal.any([ended, this.#wake.signal]));
        continue;
      }
      this.#dueAtMs = clock.now() + Math.max(WRITES_EVERY_MS, this.#bytesMs);
      await this.write();
    }
  }

  async #write(): Promise<boolean> {
    const { reign, clock, log, read } = this.#parts;
    const notes = read();
    const rows = rowsOf(notes);
    const written = JSON.stringify(rows);
    if (written === this.#written && clock.now() - this.#writtenAtMs < AGAIN_AFTER_MS) return true;
    this.#written = written;
    this.#writtenAtMs = clock.now();
    const leftOut = notes.length - rows.length;
    if (leftOut > 0 && !this.#isTooMuch)
      log.warn({ leftOut }, "not all that the next leader should know has room in its notes");
    this.#isTooMuch = leftOut > 0;
    const isWritten = await reign.write({ atMs: Math.round(clock.wallNow()), rows });
    if (!isWritten) this.#written = "";
    return isWritten;
  }
}
