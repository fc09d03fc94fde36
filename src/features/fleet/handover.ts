import type { Note, NoteHome } from "../quota/journal.ts";
import { factsOf, type Handover } from "../history/handover.ts";
import type { Reign } from "./lead/reign.ts";
import type { Log } from "../../kernel/text/log.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time/duration.ts";

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
  readonly read: () => Handover;
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
    const { facts, leftOut } = factsOf(read(), clock.wallNow());
    const rows = JSON.stringify(facts.rows);
    if (rows === this.#written && clock.now() - this.#writtenAtMs < AGAIN_AFTER_MS) return true;
    this.#written = rows;
    this.#writtenAtMs = clock.now();
    if (leftOut > 0 && !this.#isTooMuch)
      log.warn({ leftOut }, "not all that the next leader should know has room in its notes");
    this.#isTooMuch = leftOut > 0;
    const isWritten = await reign.write(facts);
    if (!isWritten) this.#written = "";
    return isWritten;
  }
}
