const UTF8 = new TextEncoder();
const FIRST_BYTES = 256;

/** Bytes that grow. */
export class Bytes {
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  /** Its memory is free at once: where much of it is left to be collected, V8 marks the whole heap, in each scrape. */
  free(): void {
    this.#bytes.buffer.transfer(0);
    this.length = 0;
  }

  byte(byte: number): void {
    this.#makeRoom(1);
    this.#bytes[this.length++] = byte;
  }

  copy(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Once more what was written from there to there. */
  repeat(from: number, to: number): void {
    this.#makeRoom(to - from);
    this.#bytes.copyWithin(this.length, from, to);
    this.length += to - from;
  }

  /** Most text is short and in ASCII: the encoder is slower then. */
  text(text: string): void {
    this.#makeRoom(text.length);
    const bytes = this.#bytes;
    const from = this.length;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) {
        this.copy(UTF8.encode(text));
        return;
      }
      bytes[from + index] = code;
    }
    this.length = from + text.length;
  }

  /** Least significant first, as protobuf has it. */
  double(value: number): void {
    this.#makeRoom(8);
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  /** Whole and not negative. */
  varint(value: number): void {
    let rest = value;
    for (; rest > 0x7fff_ffff; rest = Math.floor(rest / 0x80)) this.byte((rest % 0x80) + 0x80);
    for (; rest > 0x7f; rest >>= 7) this.byte((rest & 0x7f) + 0x80);
    this.byte(rest);
  }

  /** Room for a length, as a varint, of what is written from here until `finish`. */
  reserve(): number {
    this.byte(0);
    return this.length;
  }

  /** Most lengths fit in one byte: for others, what was written moves. */
  finish(from: number): void {
    const size = this.length - from;
    if (size <= 0x7f) {
      this.#bytes[from - 1] = size;
      return;
    }
    const more = size < 0x80 ** 2 ? 1 : Math.floor(Math.log2(size) / 7);
    this.#makeRoom(more);
    this.#bytes.copyWithin(from + more, from, this.length);
    this.length = from - 1;
    this.varint(size);
    this.length = from + more + size;
  }

  #makeRoom(more: number): void {
    const needed = this.length + more;
    if (needed <= this.#bytes.length) return;
    // The old bytes are free at once: nobody has seen them yet.
    const larger = this.#bytes.buffer.transfer(Math.max(needed, this.#bytes.length * 2));
    this.#bytes = new Uint8Array(larger);
    this.#view = new DataView(larger);
  }
}
