const FIRST_BYTES = 4_096;

/**
 * A body as it comes. It is copied: a piece that is kept would keep the whole read that it is a part of, and an
 * upstream can see to it that each read of 64 KiB holds one byte of body.
 */
export class ReceivedBody {
  readonly #mostBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** False where it is too much, and then nothing is kept any more. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.byteLength;
    if (length > this.#mostBytes) {
      this.#drop();
      return false;
    }
    if (length > this.#bytes.byteLength) this.#grow(length);
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
    return true;
  }

  take(): Buffer {
    const body = this.#bytes.subarray(0, this.#length);
    this.#drop();
    return body;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(length, FIRST_BYTES, this.#bytes.byteLength * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  #drop(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }
}
