/** What is kept of a poll takes a bounded number of bytes, however much the answer said. */

import type { KeptHeader, PhaseTimesMs } from "../../kernel/exchange/exchange.ts";
import type { SkipCause } from "../../kernel/exchange/outcome.ts";
import type { Outcome } from "../../kernel/exchange/reasons.ts";
import type { Poll, SlotOrigin } from "../../kernel/poll/poll.ts";
import { ownCopy } from "../../kernel/text/own-copy.ts";
import { capText } from "../../kernel/text/escape.ts";

/** What others wrote in one failed poll that is kept: in memory, on the page, and in the state file. */
export const KEPT_POLL_BYTES = 400;
const KEPT_DETAIL_BYTES = 280;

/** Of an upstream, in memory. Where there are so many, there may have been more: nobody is told that these were all. */
export const POLLS_KEPT = 60;
export const FAILURES_KEPT = 20;

export type PollStatus = {
  readonly id: string;
  readonly origin: SlotOrigin;
  /** When it was sent. */
  readonly atMs: number;
  readonly outcome: Outcome;
  /** Empty for ok. */
  readonly reason: string;
  /** ok, but slow. */
  readonly degraded: boolean;
  readonly durationMs: number;
  readonly phasesMs: PhaseTimesMs;
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;
  readonly detail: string;
  /** The beginning of the answer's body, if it explains a failure. */
  readonly excerpt: string | undefined;
  /** Only of answers that were not ok. */
  readonly headers?: readonly KeptHeader[];
};

export type SkipCount = {
  readonly cause: SkipCause;
  /** The one that held the slots back, where an upstream draws on several. */
  readonly budget?: string;
  readonly count: number;
};

export function pollStatusOf(poll: Poll): PollStatus {
  return {
    id: poll.id,
    origin: poll.origin,
    atMs: poll.sentAtMs,
    outcome: poll.outcome.kind,
    reason: poll.outcome.reason,
    degraded: poll.degraded,
    durationMs: poll.durationMs,
    phasesMs: poll.phasesMs,
    status: poll.head?.status,
    // Those of an ok answer are ours.
    ...(poll.outcome.kind === "ok" ? { detail: poll.detail, excerpt: undefined } : textsOf(poll)),
  };
}

type Texts = Pick<PollStatus, "detail" | "excerpt" | "headers">;

/** The sentence first, then the ids for the support, the beginning of the body, and as many names as still fit. */
function textsOf({ detail, excerpt, head }: Poll): Texts {
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
  const { ids = [], names = [] } = Object.groupBy(head?.headers ?? [], ({ value }) =>
    value === undefined ? "names" : "ids",
  );
  keep(ids, EXCERPT_BYTES);
  const keptExcerpt = excerpt && cutTo(left, excerpt);
  left -= bytesOf(keptExcerpt ?? "");
  keep(names, 0);
  const texts: Texts = { detail: keptDetail, excerpt: keptExcerpt, ...(head && { headers: kept }) };
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
