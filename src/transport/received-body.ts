const SECOND_BYTES = 4_096;
const NOTHING = Buffer.alloc(0);

/**
 * A body as it arrives. Pieces are copied: each one keeps alive the whole read that it is a part of, and an upstream
 * can arrange that each read of 64 KiB holds one byte of body.
 */
export class ReceivedBody {
  readonly #maxBytes: number;
  #bytes: Buffer = NOTHING;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** False where the body is too large; nothing of it is kept then. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.byteLength;
    if (length > this.#maxBytes) {
      this.drop();
      return false;
    }
    if (length > this.#bytes.byteLength) this.#grow(length);
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
    return true;
  }

  take(): Buffer {
    const body = this.#bytes.subarray(0, this.#length);
    this.#bytes = NOTHING;
    this.#length = 0;
    return body;
  }

  /** Most answers come in one piece, which is all that they take. */
  #grow(length: number): void {
    const isFirst = this.#length === 0;
    const larger = isFirst
      ? Buffer.allocUnsafe(length)
      : Buffer.allocUnsafeSlow(
          Math.min(this.#maxBytes, Math.max(length, SECOND_BYTES, this.#bytes.byteLength * 2)),
        );
    this.#bytes.copy(larger, 0, 0, this.#length);
    free(this.#bytes);
    this.#bytes = larger;
  }

  drop(): void {
    free(this.#bytes);
    this.#bytes = NOTHING;
    this.#length = 0;
  }
}

/** At once: hundreds of unfinished bodies would wait for the garbage collection. A small buffer is a part of another. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength > 0 && byteLength === buffer.byteLength) buffer.transfer(0);
}
