/**
 * Real refusals, as providers say them (seen), and others that nobody looked at while the table was made (unseen), or
 * before each of the rounds of mending it; the sixth was gathered by others, and of the seventh, from 308 that nobody had
 * read, these brought a change. The eighth is from documentation; ten of it were wrong before.
 * The ninth are those that brought a change, of 208 that fixtures, tests and notes of other projects quote.
 * The tenth are mostly errors that come with a status of 200, and so are those of the eleventh that others quote; the rest
 * of it are good answers that look like such errors. The twelfth was gathered by others again. The thirteenth are those that
 * brought a change, of 464 that documentation and issues quote, and some of our own making. So are the fourteenth, of 132
 * that were judged before they were read.
 */

import { describe, expect, test } from "vitest";
import { entriesOf, meaningsOf } from "./entries.ts";
import { toldOf } from "./told.ts";

/** Rounded up, and of several times the longest. */
const MOST_LATE_S = 1.1;

describe.each([
  "seen.jsonl",
  "unseen.jsonl",
  "round-2.jsonl",
  "round-3.jsonl",
  "round-4.jsonl",
  "round-5.jsonl",
  "round-6.jsonl",
  "round-7.jsonl",
  "round-8.jsonl",
  "round-9.jsonl",
  "round-10.jsonl",
  "round-11.jsonl",
  "round-12.jsonl",
  "round-13.jsonl",
  "round-14.jsonl",
])("%s", (file) => {
  test.each(entriesOf(file).map((entry) => [entry.id, entry] as const))("%s", (_, entry) => {
    const { means, waitS, detail } = toldOf(entry);
    const waits = [entry.wait_s, ...(entry.wait_fair === undefined ? [] : [entry.wait_fair])];
    const waitsRightly = waits.some((wait) =>
      wait === null ? waitS === null : waitS !== null && waitS >= wait && waitS <= wait + MOST_LATE_S,
    );
    const isRight = waitsRightly && meaningsOf(entry).includes(means);
    // A contested entry that is told as its source says is contested no more.
    expect({ isRight, means, waitS, detail }).toEqual({
      isRight: entry.contested === undefined,
      means,
      waitS,
      detail,
    });
  });
});
