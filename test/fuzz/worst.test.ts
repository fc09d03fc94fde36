import { HINTS, LIMIT_TEXTS_CHARS } from "../../src/features/hints/fields/answer-hints.ts";
import { expect, test, vi } from "vitest";
import { answerOf, meet, type Recipe } from "./worst-answers.ts";
import { KEPT_POLL_BYTES } from "../../src/features/history/kept-poll.ts";
import { MOST_LIMITS } from "../../src/features/hints/fields/limits.ts";

/** The worst that `npm run fuzz -- --worst` found, by time and by what is kept. Work is counted here, as time is not ours. */
const FOUND: readonly Recipe[] = [
  {
    status: 403,
    headers: [{ name: 0, value: 13, times: 23, headers: 527 }],
    shape: "keys",
    piece: 8,
    coding: "br",
  },
  {
    status: 500,
    headers: [
      { name: 6, value: 9, times: 2, headers: 28 },
      { name: 7, value: 13, times: 679, headers: 320 },
    ],
    shape: "keys",
    piece: 10,
    coding: "gzip, gzip, gzip",
  },
  {
    status: 402,
    headers: [
      { name: 15, value: 10, times: 577, headers: 691 },
      { name: 6, value: 0, times: 10_822, headers: 748 },
      { name: 12, value: 7, times: 67, headers: 864 },
    ],
    shape: "list",
    piece: 1,
    coding: "gzip",
  },
  {
    status: 429,
    headers: [{ name: 15, value: 0, times: 11, headers: 45 }],
    shape: "keys",
    piece: 6,
    coding: "zebra",
  },
  {
    status: 402,
    headers: [
      { name: 2, value: 17, times: 5, headers: 26 },
      { name: 1, value: 7, times: 24, headers: 238 },
      { name: 8, value: 9, times: 3, headers: 830 },
    ],
    shape: "text",
    piece: 3,
    coding: "zebra",
  },
  {
    status: 402,
    headers: [
      { name: 3, value: 8, times: 354, headers: 12 },
      { name: 8, value: 11, times: 4, headers: 409 },
      { name: 11, value: 15, times: 2_819, headers: 1_912 },
      { name: 9, value: 5, times: 4_764, headers: 55 },
      { name: 9, value: 3, times: 4, headers: 3 },
    ],
    shape: "keys",
    piece: 0,
    coding: "br",
  },
  {
    status: 402,
    headers: [
      { name: 3, value: 8, times: 354, headers: 12 },
      { name: 8, value: 11, times: 4, headers: 409 },
      { name: 3, value: 13, times: 18, headers: 651 },
    ],
    shape: "error",
    piece: 4,
    coding: "zebra",
  },
  // Each name of a body was read, each code of the headers, and each link.
  {
    status: 500,
    headers: [{ name: 1, value: 7, times: 39, headers: 32 }],
    shape: "keys",
    piece: 10,
    coding: "gzip",
  },
  {
    status: 500,
    headers: [{ name: 16, value: 18, times: 1, headers: 3_000 }],
    shape: "keys",
    piece: 10,
    coding: "gzip",
  },
  {
    status: 402,
    headers: [{ name: 8, value: 20, times: 3, headers: 3_000 }],
    shape: "keys",
    piece: 3,
    coding: "gzip",
  },
  // The worst since then.
  {
    status: 429,
    headers: [
      { name: 4, value: 11, times: 5, headers: 406 },
      { name: 8, value: 20, times: 6, headers: 330 },
    ],
    shape: "keys",
    piece: 10,
    coding: "br",
  },
  {
    status: 403,
    headers: [
      { name: 4, value: 1, times: 5, headers: 1_026 },
      { name: 11, value: 13, times: 104, headers: 19 },
      { name: 8, value: 17, times: 1_005, headers: 49 },
    ],
    shape: "keys",
    piece: 10,
    coding: "br",
  },
  // Each of what is kept, and each of its longest.
  {
    status: 500,
    headers: [
      { name: 0, value: 14, times: 300, headers: 40 },
      { name: 8, value: 11, times: 200, headers: 3 },
      { name: 9, value: 12, times: 300, headers: 1 },
      { name: 3, value: 0, times: 30, headers: 60 },
      { name: 13, value: 14, times: 1, headers: 60 },
    ],
    shape: "text",
    piece: 8,
    coding: "identity",
  },
];

/** Links and warning: six targets of 500 characters and 300 of the warning. */
const ANNOUNCED_CHARS = 3_300;
/** Of the words of 120 names and 48 codes, and of the names of 128 headers. */
const LOOKUPS = 1_500;
const ESCAPED_CHARS = 10_000;

test.each(FOUND.map((recipe) => [JSON.stringify(recipe), recipe] as const))(
  "what one answer costs is bounded: %s",
  (_, recipe) => {
    const [lookUp, replace] = [vi.spyOn(Map.prototype, "get"), vi.spyOn(String.prototype, "replace")];
    const { kept, poll, searchedChars, searches } = meet(answerOf(recipe));
    const lookups = lookUp.mock.calls.length;
    const escapedChars = replace.mock.contexts.reduce((sum: number, text) => sum + String(text).length, 0);
    vi.restoreAllMocks();
    const { detail, excerpt, headers } = kept;
    expect(Buffer.byteLength(JSON.stringify([detail, excerpt, headers]))).toBeLessThanOrEqual(
      KEPT_POLL_BYTES + 30,
    );
    expect(HINTS.of(poll.said)?.families.length ?? 0).toBeLessThanOrEqual(MOST_LIMITS);
    expect(searchedChars).toBeLessThanOrEqual(LIMIT_TEXTS_CHARS + ANNOUNCED_CHARS + 2 * 1_000);
    expect(searches).toBeLessThanOrEqual(12);
    expect(lookups).toBeLessThanOrEqual(LOOKUPS);
    expect(escapedChars).toBeLessThanOrEqual(ESCAPED_CHARS);
  },
);
