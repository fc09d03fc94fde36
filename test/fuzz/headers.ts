import * as fc from "fast-check";
import type { AnswerHints } from "../../src/features/hints/fields/answer-hints.ts";
import { readAnswerHints } from "../../src/features/hints/fields/answer-hints.ts";
import type { Headers } from "../../src/kernel/exchange/exchange.ts";
import { mutated, pieces } from "./mutate.ts";
import { promise, type Target, within } from "./target.ts";
import { limitsOf } from "../../src/features/hints/fields/limits.ts";

export type HeaderCase = { readonly status: number; readonly wallNowMs: number; readonly text: string };

const MOST_MS = 2_000;

const CORPUS = [
  "Retry-After: 120\n",
  "Retry-After: Fri, 20 Nov 2026 12:00:30 GMT\nDate: Fri, 20 Nov 2026 12:00:00 GMT\n",
  'RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400\nRateLimit: "burst";r=50;t=30\n',
  "RateLimit: limit=100, remaining=50, reset=30\nRateLimit-Policy: 100;w=60\n",
  "RateLimit-Limit: 100, 100;w=60, 5000;w=3600\nRateLimit-Remaining: 4\nRateLimit-Reset: 5\n",
  "X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795176000\n",
  "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 59\nx-ratelimit-reset-requests: 1m2.5s\n",
  "anthropic-ratelimit-requests-remaining: 3\nanthropic-ratelimit-requests-reset: 2026-11-20T12:00:30Z\n",
  "x-rate-limit-limit-day: 1000\nx-rate-limit-remaining-day: 0\nretry-after-ms: 1500\n",
];

const PIECES = [
  ...'0123456789dhms;,=:.+-"\\()?%@ \t\n'.split(""),
  ...pieces('"a";q=1¦;w=0¦;r=-1¦;t=1e9¦q=99999999999999999999¦;qu="bytes"¦(a b);x¦:AAAA:¦?1'),
  ...pieces('@1¦%""'),
  ...pieces("1e400¦NaN¦Infinity¦0x10¦-0¦9007199254740993¦Fri, 31 Feb 2026 25:61:61 GMT¦Date: "),
  ...pieces("\u00ff¦\u0000"),
  ...pieces("Retry-After: ¦RateLimit: ¦RateLimit-Policy: ¦X-RateLimit-Reset: "),
  ...pieces("x-ratelimit-reset-ms: "),
  ",".repeat(1_000),
  '"a",'.repeat(500),
  ";a".repeat(500),
  "9".repeat(1_000),
];

function headersOf(text: string): Headers {
  return text.split("\n").flatMap((line) => {
    const colon = line.indexOf(":");
    return colon < 1 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const];
  });
}

function isCount(value: number | undefined, least: number): boolean {
  return value === undefined || (Number.isFinite(value) && value >= least);
}

function judge(hints: AnswerHints, { status }: HeaderCase, fields: number): void {
  const { pause, families, remaining, exhaustedPerMs, malformed, throttled } = hints;
  promise(throttled === (status === 429 || status === 402), "throttled is about the status alone");
  promise(isCount(pause?.forMs, 0), `a pause of ${pause?.forMs} ms`);
  for (const { requests, perMs } of limitsOf(families)) {
    promise(Number.isSafeInteger(requests) && requests >= 1, `a limit of ${requests}`);
    promise(perMs === undefined || (Number.isFinite(perMs) && perMs > 0), `a window of ${perMs} ms`);
  }
  promise(isCount(remaining?.requests, 0), `${remaining?.requests} left`);
  promise(isCount(remaining?.resetMs, 0), `more comes in ${remaining?.resetMs} ms`);
  promise(exhaustedPerMs === undefined || exhaustedPerMs > 0, `exhausted for ${exhaustedPerMs} ms`);
  promise(malformed >= 0 && malformed <= fields, `${malformed} of ${fields} fields are malformed`);
}

export const headersTarget: Target<HeaderCase> = {
  name: "headers",
  cases: fc.record({
    status: fc.constantFrom(200, 402, 404, 429, 503),
    wallNowMs: fc.nat({ max: 2 ** 42 }),
    text: mutated(CORPUS, PIECES),
  }),
  kept: [
    [
      "a window longer than numbers reach",
      { status: 429, wallNowMs: 0, text: `RateLimit-Policy: "a";q=1;w=${"9".repeat(400)}\n` },
    ],
  ],
  open: async () => ({
    check: async (bytes) => {
      const headers = headersOf(bytes.text);
      const head = { status: bytes.status, reasonPhrase: "", headers };
      const work = async (): Promise<AnswerHints> => readAnswerHints(head, bytes.wallNowMs, String).hints;
      judge(await within(MOST_MS, "reading", work()), bytes, headers.length);
    },
    [Symbol.asyncDispose]: async () => {},
  }),
};
