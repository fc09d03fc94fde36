import type { ScrapeCast } from "../core/scrape-frame.ts";

export type Coding = "plain" | "gzip";

export type ScrapeRequest =
  /** Whose numbers come from now on. */
  | { readonly kind: "cast"; readonly cast: ScrapeCast }
  /** A text is to be made of these. */
  | {
      readonly kind: "begin";
      readonly scrape: number;
      readonly numbers: Float64Array<ArrayBuffer>;
      readonly coding: Coding;
    }
  /** What comes behind all else; it may still come when all else is told. */
  | { readonly kind: "ending"; readonly scrape: number; readonly text: string }
  | { readonly kind: "more"; readonly scrape: number }
  | { readonly kind: "leave"; readonly scrape: number };

/** One for each `more`. */
export type ScrapeReply = {
  readonly scrape: number;
  readonly part: Uint8Array<ArrayBuffer>;
  readonly isLast: boolean;
};
