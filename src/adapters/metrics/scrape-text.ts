import { ownedPieces } from "../../core/metrics/exposition.ts";
import { type ScrapeFrame, snapshotIn } from "../../core/metrics/scrape-frame.ts";
import { GzipParts } from "../gzip-parts.ts";
import type { ScrapeReply } from "./scrape-thread.ts";

/**
 * Each part passes through the main thread, and is made plain there for clients without gzip: so neither many parts, nor
 * large ones.
 */
const PART_CHARACTERS = 131_072;
const UTF8 = new TextEncoder();

/** The text of one scrape in gzip, written part by part on request. */
export class ScrapeText {
  readonly #pieces: Iterator<string>;
  readonly #gzip = new GzipParts();
  #ending: string | undefined;
  #hasMore = true;
  #asked = 0;

  constructor(frame: ScrapeFrame) {
    this.#pieces = ownedPieces(snapshotIn(frame));
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
    return { part: this.#gzip.next(bytes, isLast), isLast };
  }
}
