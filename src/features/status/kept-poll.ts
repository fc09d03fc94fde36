/** What is kept of a poll takes a bounded number of bytes, however much the answer said. */

import { KEPT_DETAIL_BYTES, KEPT_POLL_BYTES } from "../../kernel/exchange/bounds.ts";
import type { KeptHeader } from "../../kernel/exchange/exchange.ts";
import { ownCopy } from "../../kernel/text/own-copy.ts";
import { capText } from "../../kernel/text/escape.ts";

/** Of an upstream, in memory. Where there are so many, there may have been more: nobody is told that these were all. */
export const POLLS_KEPT = 60;
export const FAILURES_KEPT = 20;

type Texts = {
  readonly detail: string;
  readonly excerpt: string | undefined;
  readonly headers?: readonly KeptHeader[];
};

/** The sentence first, then the ids for the support, the beginning of the body, and as many names as still fit. */
export function keptTexts({ detail, excerpt, headers = [] }: Texts): Texts {
  const keptDetail = cutTo(KEPT_DETAIL_BYTES, detail);
  let left = KEPT_POLL_BYTES - bytesOf(keptDetail);
  const kept: KeptHeader[] = [];
  const keep = (those: readonly KeptHeader[], spareBytes: number): void => {
    for (const header of those) {
      const bytes = bytesOf(header);
      if (bytes > left - spareBytes) return;
      left -= bytes;
      kept.push(header);
    }
  };
  const { ids = [], names = [] } = Object.groupBy(headers, ({ value }) =>
    value === undefined ? "names" : "ids",
  );
  keep(ids, EXCERPT_BYTES);
  const keptExcerpt = excerpt && cutTo(left, excerpt);
  left -= bytesOf(keptExcerpt ?? "");
  keep(names, 0);
  const texts: Texts = { detail: keptDetail, excerpt: keptExcerpt, headers: kept };
  return { excerpt: undefined, ...ownCopy<Omit<Texts, "excerpt">>(texts) };
}

/** Ids leave so much for the body. */
const EXCERPT_BYTES = 100;

function cutTo(mostBytes: number, text: string): string {
  let kept = text;
  for (let bytes = bytesOf(kept); bytes > mostBytes; bytes = bytesOf(kept))
    kept = capText(kept, Math.floor((kept.length * mostBytes) / bytes));
  return kept;
}

const UTF8 = new TextEncoder();

/** V8 takes two bytes for each character of a text that has any from outside of Latin-1. */
const IS_WIDE = /[^\0-\xff]/;

/** In the state file it is JSON. */
function bytesOf(value: string | KeptHeader): number {
  const json = JSON.stringify(value);
  return Math.max(UTF8.encode(json).length, IS_WIDE.test(json) ? 2 * json.length : 0);
}
