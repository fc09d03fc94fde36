import { setImmediate as nextTurn } from "node:timers/promises";

/** What is written for longer than this in one go lets others have the loop; where they take long, it may, too. */
const SHORTEST_TURN_MS = 1;
const LONGEST_TURN_MS = 10;
const FIRST_BYTES = 65_536;
const UTF8 = new TextEncoder();

/**
 * Bytes of a text that comes in pieces. Joined as strings, eight megabytes of them hold the loop for 40 ms; here what
 * is due comes in between.
 */
export class GrowingText {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(likelyBytes: number) {
    this.#bytes = new Uint8Array(Math.max(FIRST_BYTES, likelyBytes));
  }

  async writeAll(pieces: Iterable<string>): Promise<void> {
    let turnMs = SHORTEST_TURN_MS;
    let sinceMs = performance.now();
    for (const piece of pieces) {
      this.write(piece);
      const untilMs = performance.now();
      if (untilMs - sinceMs < turnMs) continue;
      await nextTurn();
      sinceMs = performance.now();
      turnMs = Math.min(LONGEST_TURN_MS, Math.max(SHORTEST_TURN_MS, sinceMs - untilMs));
    }
  }

  write(piece: string): void {
    const needed = this.#length + Buffer.byteLength(piece);
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#length += UTF8.encodeInto(piece, this.#bytes.subarray(this.#length)).written;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
