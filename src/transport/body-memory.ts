type Waiting = { readonly bytes: number; readonly heldBytes: number; readonly granted: () => void };

/**
 * The memory that all large bodies of this process share. Whoever finds too little waits its turn, and does not read on
 * meanwhile. As each upstream has one request at a time, none can keep the others waiting for longer than its turn. What
 * those that wait have read already is memory too, and so is what each stream takes before it takes much: where that is too
 * much, no further one may wait, or begin.
 */
export class BodyMemory {
  readonly #bytes: number;
  readonly #mostHeldBytes: number;
  #takenBytes = 0;
  #streamsBytes = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(bytes: number, mostHeldBytes: number) {
    this.#bytes = bytes;
    this.#mostHeldBytes = mostHeldBytes;
  }

  /**
   * Returns what gives them back, or leaves the queue; undefined where one that holds so much may not wait. `granted` is
   * called now or later; a body alone always fits.
   */
  take(bytes: number, heldBytes: number, granted: () => void): (() => void) | undefined {
    const waiting: Waiting = { bytes, heldBytes, granted };
    if (this.#waiting.size === 0 && this.#fits(waiting)) this.#grant(waiting);
    else if (this.#heldBytes + heldBytes > this.#mostHeldBytes) return undefined;
    else this.#waiting.add(waiting);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      if (!this.#waiting.delete(waiting)) this.#takenBytes -= bytes;
      // Not at once: who is granted some reads on, may end, and give it back.
      setImmediate(() => this.#grantNext());
    };
  }

  /** As `take`, for a stream that begins. */
  beginStream(bytes: number): (() => void) | undefined {
    if (this.#heldBytes + bytes > this.#mostHeldBytes) return undefined;
    this.#streamsBytes += bytes;
    return () => void (this.#streamsBytes -= bytes);
  }

  get #heldBytes(): number {
    return this.#waiting.values().reduce((sum, { heldBytes }) => sum + heldBytes, this.#streamsBytes);
  }

  #fits({ bytes }: Waiting): boolean {
    return this.#takenBytes === 0 || this.#takenBytes + bytes <= this.#bytes;
  }

  #grantNext(): void {
    for (const next of this.#waiting) {
      if (!this.#fits(next)) return;
      this.#waiting.delete(next);
      this.#grant(next);
    }
  }

  #grant({ bytes, granted }: Waiting): void {
    this.#takenBytes += bytes;
    granted();
  }
}
