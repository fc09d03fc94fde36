import { ownedPieces } from "../../core/metrics/exposition.ts";
import { type ScrapeFrame, snapshotIn } from "../../core/metrics/scrape-frame.ts";
import type { Coding, ScrapeReply } from "./scrape-thread.ts";
import { constants, crc32, deflateRawSync } from "node:zlib";

/** Each part passes through the main thread: so neither many parts, nor large ones. */
const PART_CHARACTERS = 524_288;
const UTF8 = new TextEncoder();

/** The text of one scrape, written part by part on request. */
export class ScrapeText {
  readonly #pieces: Iterator<string>;
  readonly #gzip: GzipParts | undefined;
  #ending: string | undefined;
  #hasMore = true;
  #asked = 0;

  constructor(frame: ScrapeFrame, coding: Coding) {
    this.#pieces = ownedPieces(snapshotIn(frame));
    this.#gzip = coding === "gzip" ? new GzipParts() : undefined;
  }

  /** The last lines. */
  end(text: string): void {
    this.#ending = text;
  }

  ask(): void {
    this.#asked += 1;
  }

  /** Undefined if no part was requested, or only the ending is left and has not come yet. */
  takeAsked(): Omit<ScrapeReply, "scrape"> | undefined {
    if (this.#asked === 0 || (!this.#hasMore && this.#ending === undefined)) return undefined;
    this.#asked -= 1;
    let text = "";
    while (this.#hasMore && text.length < PART_CHARACTERS) {
      const { done, value } = this.#pieces.next();
      if (done === true) this.#hasMore = false;
      else text += value;
    }
    const isLast = !this.#hasMore && this.#ending !== undefined;
    const bytes = UTF8.encode(isLast ? text + this.#ending : text);
    return { part: this.#gzip?.next(bytes, isLast) ?? bytes, isLast };
  }
}

const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
const TRAILER_BYTES = 8;
const NOTHING = new Uint8Array(0);

/**
 * gzip (RFC 1952) of a text in parts. Each is compressed synchronously: the stream of the library would use the
 * threads that also resolve names. A part ends on a whole byte, and refers to nothing before itself.
 */
export class GzipParts {
  #isBegun = false;
  #crc = 0;
  #length = 0;

  next(text: Uint8Array, isLast: boolean): Uint8Array<ArrayBuffer> {
    const header = this.#isBegun ? NOTHING : HEADER;
    this.#isBegun = true;
    this.#crc = crc32(text, this.#crc);
    this.#length += text.length;
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    const body = deflateRawSync(text, { level: constants.Z_BEST_SPEED, finishFlush });
    const part = new Uint8Array(header.length + body.length + (isLast ? TRAILER_BYTES : 0));
    part.set(header);
    part.set(body, header.length);
    if (isLast) this.#sign(new DataView(part.buffer, part.length - TRAILER_BYTES));
    return part;
  }

  #sign(trailer: DataView): void {
    trailer.setUint32(0, this.#crc, true);
    // Modulo 2³², as the format says.
    trailer.setUint32(4, this.#length, true);
  }
}
