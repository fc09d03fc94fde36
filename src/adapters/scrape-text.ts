import { ownedPieces } from "../core/exposition.ts";
import { snapshotIn, type ScrapeFrame } from "../core/scrape-frame.ts";
import { GzipParts } from "./gzip-parts.ts";
import type { Coding, ScrapeReply } from "./scrape-messages.ts";

/** Each passes the thread that polls, and waits there for its turn: not too many, and none that takes long. */
const PART_CHARACTERS = 524_288;
const UTF8 = new TextEncoder();

/** The text of one scrape, made part by part as they are asked for. */
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

  /** What comes behind all else. */
  end(text: string): void {
    this.#ending = text;
  }

  ask(): void {
    this.#asked += 1;
  }

  /** Undefined where none is asked for, or where all is told but its ending is not there yet. */
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
