import { expect, test } from "vitest";

import type { AnswerHints } from "../../../../src/features/hints/fields/answer-hints.ts";
import { type AdvertisedLimit, limitsOf } from "../../../../src/features/hints/fields/limits.ts";
import { LONGEST_WAIT_MS } from "../../../../src/features/hints/fields/time-in.ts";
import { answerHintsOn } from "../../../support/answer-hints.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);
const NOW_SECONDS = NOW_MS / 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** What each limit is in full is shown by dialects.test.ts. */
type Told = Omit<AnswerHints, "families"> & { readonly limits: readonly AdvertisedLimit[] };

const NOTHING: Told = {
  throttled: false,
  pause: undefined,
  limits: [],
  remaining: undefined,
  exhaustedPerMs: undefined,
  malformed: 0,
};

type Fields = Readonly<Record<string, string | readonly string[]>>;

function advise(status: number, fields: Fields): Told {
  const headers = Object.entries(fields).flatMap(([name, values]) =>
    [values].flat().map((value) => [name.toLowerCase(), value] as const),
  );
  const { families, ...told } = answerHintsOn(status, headers, NOW_MS);
  return { ...told, limits: limitsOf(families) };
}

test("an answer without such headers says nothing", () => {
  expect(advise(200, { "Content-Type": "application/json", Date: "Fri, 20 Nov 2026 12:00:00 GMT" })).toEqual(
    NOTHING,
  );
});

test("429 and 402 throttle, whatever their headers say", () => {
  expect(advise(429, {}).throttled).toBe(true);
  expect(advise(402, {}).throttled).toBe(true);
  expect(advise(503, { "Retry-After": "5" }).throttled).toBe(false);
  expect(advise(200, { RateLimit: '"default";r=0;t=5' }).throttled).toBe(false);
});

const CREDIT_SPENT = { scope: "budget", forMs: 300_000, source: "credit_spent" };

test("a 402 that does not say when is looked at again after 5 minutes, however often it comes", () => {
  expect(advise(402, {}).pause).toEqual(CREDIT_SPENT);
  expect(advise(402, { RateLimit: '"default";r=0;t=0' }).pause).toEqual(CREDIT_SPENT);
  expect(advise(402, { RateLimit: '"default";r=7;t=9' }).pause).toEqual(CREDIT_SPENT);
  expect(advise(402, { RateLimit: '"day";r=0;t=1800' }).pause).toMatchObject({ forMs: 1_800_000 });
  expect(advise(429, {}).pause).toBeUndefined();
});

const DATE = "Fri, 20 Nov 2026 11:00:00 GMT";

test.each<[string, Fields, number | undefined]>([
  ["seconds", { "Retry-After": "120" }, 120_000],
  ["none at all", { "Retry-After": "0" }, 0],
  ["a fraction", { "Retry-After": "1.5" }, 1500],
  ["less than a millisecond", { "Retry-After": "0.0001" }, 1],
  ["spaces around", { "Retry-After": " 7 " }, 7000],
  ["a duration", { "Retry-After": "30s" }, 30_000],
  ["a longer duration", { "Retry-After": "1h2m3s" }, 3_723_000],
  ["a duration as .NET writes it", { "Retry-After": "00:01:30" }, 90_000],
  ["a moment in seconds", { "Retry-After": String(NOW_SECONDS + 42) }, 42_000],
  ["a limit's own spelling", { "X-RateLimit-Retry-After": "8" }, 8000],
  ["the reset of a bucket", { "X-RateLimit-Reset-After": "1.25" }, 1250],
  ["a date, against our clock", { "Retry-After": "Fri, 20 Nov 2026 12:00:30 GMT" }, 30_000],
  [
    "a date, against the answer's own",
    { Date: DATE, "Retry-After": "Fri, 20 Nov 2026 11:00:30 GMT" },
    30_000,
  ],
  [
    "a date, and a Date that is none",
    { Date: "now", "Retry-After": "Fri, 20 Nov 2026 12:00:30 GMT" },
    30_000,
  ],
  ["an old form of date", { "Retry-After": "Friday, 20-Nov-26 12:00:30 GMT" }, 30_000],
  ["a date in the past", { "Retry-After": "Fri, 20 Nov 2026 11:59:59 GMT" }, 0],
  ["milliseconds", { "retry-after-ms": "854" }, 854],
  ["milliseconds of a gateway", { "x-ms-retry-after-ms": "2500" }, 2500],
  ["two that differ", { "Retry-After": "1", "retry-after-ms": "1854" }, 1854],
  ["the same field twice", { "Retry-After": ["5", "10"] }, 10_000],
  ["one of two that can be read", { "Retry-After": ["soon", "10"] }, 10_000],
])("Retry-After is heeded: %s", (_, fields, forMs) => {
  const pause = { scope: "budget", forMs, source: "retry_after" };
  expect(advise(429, fields).pause).toEqual(pause);
  expect(advise(402, fields).pause).toEqual(forMs === 0 ? CREDIT_SPENT : pause);
  expect(advise(503, fields).pause).toEqual({ ...pause, scope: "upstream" });
  for (const status of [301, 401, 404, 500, 520]) {
    expect(advise(status, fields).pause).toEqual({ ...pause, scope: "upstream" });
  }
  expect(advise(200, fields)).toEqual(NOTHING);
});

test.each([
  "",
  "soon",
  "-5",
  "+5",
  "5, soon",
  "0x10",
  "Infinity",
  "NaN",
  "１０",
  "1.",
  ".5",
  "Fri, 31 Feb 2026 12:00:30 GMT",
])('a Retry-After of "%s" is ignored and counted', (value) => {
  expect(advise(429, { "Retry-After": value })).toEqual({ ...NOTHING, throttled: true, malformed: 1 });
});

test.each<[string, Fields, number]>([
  ["two waits in one header", { "Retry-After": "30, 60" }, 60_000],
  ["a wait in quotation marks", { "Retry-After": '"30"' }, 30_000],
  ["a date as PHP and Python print it", { "Retry-After": "Fri, 20 Nov 2026 13:00:30 +0100" }, 30_000],
  ["minutes", { "Retry-After-Minutes": "5" }, 300_000],
  ["a header that says when to try again", { "X-Rate-Limit-Try-Again-In": "14" }, 14_000],
  ["a wait for one group of its requests", { "X-RateLimit-Retry-After-Contract": "23" }, 23_000],
  ["a wait in one word", { "X-RateLimit-RetryAfter": String(NOW_SECONDS + 30) }, 30_000],
  ["a moment of its reset", { "X-RateLimit-ResetsAt": `${NOW_MS + 9000}` }, 9000],
  ["what was used, and a reset", { "X-RateLimit-Count": "57", "X-RateLimit-Reset": "33" }, 33_000],
  ["nothing but a reset", { "X-RateLimit-Reset": String(NOW_SECONDS + 20) }, 20_000],
  [
    "a limit and its reset, and not what is left",
    { "RateLimit-Limit": "10", "RateLimit-Reset": "15" },
    15_000,
  ],
])("a 429 with %s says when to come back", (_, fields, forMs) => {
  expect(advise(429, fields)).toMatchObject({ pause: { forMs }, malformed: 0 });
});

test("of a dictionary, what can be read is believed, and the rest counts once", () => {
  expect(advise(200, { RateLimit: "limit=100, remaining=some, reset=soon" })).toMatchObject({
    limits: [{ requests: 100 }],
    remaining: undefined,
    malformed: 1,
  });
});

test("a refusal for another reason does not wait for the reset of a quota that has no end", () => {
  const fields = { "x-apiquota-remaining": "-1", "x-apiquota-reset": "2026-11-21T00:00:00Z" };
  expect(advise(429, fields)).toMatchObject({ pause: undefined, malformed: 0 });
});

test("of several resets without a word of what is left, none is waited for", () => {
  const fields = { "X-RateLimit-Reset-Requests": "20s", "X-RateLimit-Reset-Tokens": "6s" };
  expect(advise(429, fields).pause).toBeUndefined();
});

test("a minute that allows as many as a day keeps its own window", () => {
  const minute = { "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30" };
  const day = { "X-RateLimit-Limit-Day": "100", "X-RateLimit-Remaining-Day": "60" };
  expect(advise(429, { ...minute, ...day })).toMatchObject({
    pause: { forMs: 30_000 },
    exhaustedPerMs: undefined,
  });
});

test("a wait in milliseconds is no date", () => {
  expect(advise(429, { "retry-after-ms": "Fri, 20 Nov 2026 12:00:30 GMT" })).toMatchObject({
    pause: undefined,
    malformed: 1,
  });
});

test.each<[string, Fields, Partial<Told>]>([
  [
    "draft 10",
    { "RateLimit-Policy": '"burst";q=100;w=60,"daily";q=1000;w=86400', RateLimit: '"burst";r=50;t=30' },
    {
      limits: [
        { requests: 100, perMs: MINUTE_MS },
        { requests: 1000, perMs: DAY_MS },
      ],
      remaining: { requests: 50, limit: 100, resetMs: 30_000 },
    },
  ],
  [
    "draft 10, several policies at once",
    {
      "RateLimit-Policy": ['"permin";q=50;w=60', '"perhr";q=1000;w=3600'],
      RateLimit: '"permin";r=20;t=30, "perhr";r=100;t=900',
    },
    {
      limits: [
        { requests: 50, perMs: MINUTE_MS },
        { requests: 1000, perMs: HOUR_MS },
      ],
      remaining: { requests: 100, limit: 1000, resetMs: 900_000 },
    },
  ],
  [
    "draft 10, a partition key and no policy",
    { RateLimit: '"default";r=999;pk=:dHJpYWwxMjEzMjM=:' },
    { remaining: { requests: 999, limit: undefined, resetMs: undefined } },
  ],
  [
    "draft 10, bytes and concurrency are not requests",
    {
      "RateLimit-Policy":
        '"bytes";q=65535;qu="content-bytes";w=10, "few";q=2;qu="concurrent-requests", "calls";q=60;w=60',
      RateLimit: '"bytes";r=0;t=9, "few";r=0, "calls";r=59;t=60',
    },
    {
      limits: [{ requests: 60, perMs: MINUTE_MS }],
      remaining: { requests: 59, limit: 60, resetMs: 60_000 },
    },
  ],
  [
    "draft 8 of a JavaScript middleware",
    {
      "RateLimit-Policy": '"100-in-15min"; q=100; w=900; pk=:ZjQxMTE4MTQ3YzZm:',
      RateLimit: '"100-in-15min"; r=99; t=900',
    },
    {
      limits: [{ requests: 100, perMs: 900_000 }],
      remaining: { requests: 99, limit: 100, resetMs: 900_000 },
    },
  ],
  [
    "draft 7, one dictionary",
    { "RateLimit-Policy": "100;w=60", RateLimit: "limit=100, remaining=50, reset=30" },
    {
      limits: [{ requests: 100, perMs: MINUTE_MS }],
      remaining: { requests: 50, limit: 100, resetMs: 30_000 },
    },
  ],
  [
    "draft 6, three fields",
    {
      "RateLimit-Limit": "100, 100;w=60",
      "RateLimit-Remaining": "50",
      "RateLimit-Reset": "30",
      "RateLimit-Policy": '100;w=60, 5000;w=3600;comment="daytime, office; hours"',
    },
    {
      limits: [
        { requests: 100, perMs: MINUTE_MS },
        { requests: 5000, perMs: HOUR_MS },
      ],
      remaining: { requests: 50, limit: 100, resetMs: 30_000 },
    },
  ],
  [
    "a proxy's list of limits",
    {
      "x-ratelimit-limit": '10, 10;w=1;name="svc, a", 1000;w=3600',
      "x-ratelimit-remaining": "9",
      "x-ratelimit-reset": "1",
    },
    {
      limits: [
        { requests: 10, perMs: 1000 },
        { requests: 1000, perMs: HOUR_MS },
      ],
      remaining: { requests: 9, limit: 10, resetMs: 1000 },
    },
  ],
  [
    "epoch seconds",
    {
      "X-RateLimit-Limit": "600",
      "X-RateLimit-Remaining": "599",
      "X-RateLimit-Reset": String(NOW_SECONDS + 42),
    },
    {
      limits: [{ requests: 600, perMs: undefined }],
      remaining: { requests: 599, limit: 600, resetMs: 42_000 },
    },
  ],
  [
    "epoch seconds with a fraction, and a delay beside them",
    {
      "X-RateLimit-Limit": "5",
      "X-RateLimit-Remaining": "4",
      "X-RateLimit-Reset": `${NOW_SECONDS + 1}.470`,
      "X-RateLimit-Reset-After": "1.5",
      "X-RateLimit-Bucket": "abcd1234",
    },
    { limits: [{ requests: 5, perMs: undefined }], remaining: { requests: 4, limit: 5, resetMs: 1500 } },
  ],
  [
    "epoch milliseconds of a model router",
    { "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "3", "X-RateLimit-Reset": String(NOW_MS + 5001) },
    { limits: [{ requests: 60, perMs: undefined }], remaining: { requests: 3, limit: 60, resetMs: 5001 } },
  ],
  [
    "epoch seconds against the answer's own clock",
    { Date: DATE, "X-Rate-Limit-Remaining": "3", "X-Rate-Limit-Reset": String(NOW_SECONDS - 3600 + 20) },
    { remaining: { requests: 3, limit: undefined, resetMs: 20_000 } },
  ],
  [
    "a limit in a field without a word more",
    { "X-Rate-Limit": "700", "X-Rate-Limit-Remaining": "699" },
    {
      limits: [{ requests: 700, perMs: undefined }],
      remaining: { requests: 699, limit: 700, resetMs: undefined },
    },
  ],
  [
    "an email provider's prefix",
    { "x-sib-ratelimit-limit": "100", "x-sib-ratelimit-remaining": "99", "x-sib-ratelimit-reset": "3599" },
    {
      limits: [{ requests: 100, perMs: undefined }],
      remaining: { requests: 99, limit: 100, resetMs: 3_599_000 },
    },
  ],
  [
    "requests and tokens of a model provider, with durations",
    {
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-limit-tokens": "150000",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-reset-tokens": "6m0s",
    },
    { limits: [{ requests: 60, perMs: undefined }], remaining: { requests: 59, limit: 60, resetMs: 1000 } },
  ],
  [
    "another model provider, with moments",
    {
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-requests-remaining": "49",
      "anthropic-ratelimit-requests-reset": "2026-11-20T12:00:02Z",
      "anthropic-ratelimit-input-tokens-limit": "50000",
      "anthropic-ratelimit-tokens-remaining": "0",
      "anthropic-ratelimit-tokens-reset": "2026-11-20T13:00:00Z",
    },
    { limits: [{ requests: 50, perMs: undefined }], remaining: { requests: 49, limit: 50, resetMs: 2000 } },
  ],
  [
    "a gateway that names the window in the field",
    {
      "X-RateLimit-Limit-Minute": "20",
      "X-RateLimit-Remaining-Minute": "17",
      "X-RateLimit-Limit-Day": "500",
      "X-RateLimit-Remaining-Day": "5",
      "RateLimit-Limit": "20",
      "RateLimit-Remaining": "17",
      "RateLimit-Reset": "30",
    },
    {
      limits: [
        { requests: 20, perMs: MINUTE_MS },
        { requests: 500, perMs: DAY_MS },
      ],
      remaining: { requests: 5, limit: 500, resetMs: undefined },
    },
  ],
  [
    "requests of a day, with seconds to a fraction",
    {
      "x-ratelimit-limit-requests-day": "14400",
      "x-ratelimit-remaining-requests-day": "14399",
      "x-ratelimit-reset-requests-day": "33011.382867",
    },
    {
      limits: [{ requests: 14_400, perMs: DAY_MS }],
      remaining: { requests: 14_399, limit: 14_400, resetMs: 33_011_383 },
    },
  ],
  [
    "a date as JavaScript prints it",
    {
      "X-RateLimit-Remaining": "19",
      "X-RateLimit-Reset": "Fri Nov 20 2026 13:00:02 GMT+0100 (Central European Standard Time)",
    },
    { remaining: { requests: 19, limit: undefined, resetMs: 2000 } },
  ],
  [
    "a moment and an HTTP date, both",
    {
      "RateLimit-Limit": "600",
      "RateLimit-Name": "throttle_unauthenticated",
      "RateLimit-Observed": "1",
      "RateLimit-Remaining": "599",
      "RateLimit-Reset": String(NOW_SECONDS + 59),
      "RateLimit-ResetTime": "Fri, 20 Nov 2026 12:01:00 GMT",
    },
    {
      limits: [{ requests: 600, perMs: undefined }],
      remaining: { requests: 599, limit: 600, resetMs: 60_000 },
    },
  ],
  [
    "a moment without seconds",
    { "X-RateLimit-Remaining": "19", "X-RateLimit-Reset": "2026-11-20T12:05Z" },
    { remaining: { requests: 19, limit: undefined, resetMs: 300_000 } },
  ],
  [
    "remainders with a fraction",
    { "x-ratelimit-remaining": "96.0", "x-ratelimit-used": "4", "x-ratelimit-reset": "120" },
    {
      limits: [{ requests: 100, perMs: undefined }],
      remaining: { requests: 96, limit: 100, resetMs: 120_000 },
    },
  ],
  [
    "milliseconds, where the name says so",
    { "x-ratelimit-remaining": "5", "x-ratelimit-reset-ms": "60000" },
    { remaining: { requests: 5, limit: undefined, resetMs: 60_000 } },
  ],
  [
    "the origin's headers and those of a proxy before it",
    {
      "X-RateLimit-Limit": ["100", "1000"],
      "X-RateLimit-Remaining": ["50", "10"],
      "X-RateLimit-Reset": ["30", "3000"],
    },
    {
      limits: [{ requests: 100, perMs: undefined }],
      remaining: { requests: 10, limit: 1000, resetMs: 3_000_000 },
    },
  ],
  [
    "a reset that is just over",
    { "X-RateLimit-Remaining": "5", "X-RateLimit-Reset": String(NOW_SECONDS - 1) },
    { remaining: { requests: 5, limit: undefined, resetMs: 0 } },
  ],
  [
    "a part of a request: a rate, by the second",
    { "x-amzn-RateLimit-Limit": "0.5" },
    { limits: [{ requests: 0.5, perMs: 1000 }] },
  ],
  [
    "fields that only look like limits",
    {
      "X-RateLimit-Used": "12",
      "X-RateLimit-Resource": "core",
      "X-RateLimit-Global": "true",
      "X-RateLimit-Limit-Tokens-Minute": "many",
      "X-RateLimit-NearLimit": "false",
      "X-RateLimit-Reset-Policy": "hard",
      "X-Generate-Limit": "1",
    },
    { isOfWholeAccount: true },
  ],
])("limits are read: %s", (_, fields, said) => {
  expect(advise(200, fields)).toEqual({ ...NOTHING, ...said });
});

test.each([
  ["12ms", 12],
  ["1s", 1000],
  ["1.5s", 1500],
  ["6m0s", 360_000],
  ["1m26.4s", 86_400],
  ["2m59.56s", 179_560],
  ["1h2m3.5s", 3_723_500],
  ["1d2h", 93_600_000],
  ["250µs", 1],
  ["1m 5s", 65_000],
  ["0s", 0],
  ["0", 0],
  ["2678400", 31 * DAY_MS],
  [String(NOW_SECONDS + 31 * 86_400), 31 * DAY_MS],
  [String(NOW_MS + 31 * DAY_MS), 31 * DAY_MS],
  [`${NOW_MS + 42}000`, 42],
  [`${NOW_MS + 42}000000`, 42],
  ["2026-12-20T12:00:00.5Z", 30 * DAY_MS + 500],
])('a reset of "%s" is read', (value, resetMs) => {
  expect(advise(200, { "x-ratelimit-remaining": "1", "x-ratelimit-reset": value })).toMatchObject({
    remaining: { requests: 1, resetMs },
    malformed: 0,
  });
});

test.each([
  ["", "nothing"],
  ["soon", "a word"],
  ["-5", "a delay before now"],
  ["1e3", "an exponent"],
  ["2678401", "more than a month in seconds"],
  [String(NOW_SECONDS + 32 * 86_400), "more than a month ahead"],
  [String(NOW_SECONDS - 32 * 86_400), "long over"],
  [String(NOW_MS - 32 * DAY_MS), "long over, in milliseconds"],
  [`${NOW_MS - 32 * DAY_MS}000`, "long over, in microseconds"],
  [`${NOW_MS}00`, "tenths of microseconds"],
  ["5s6m", "units in no order"],
  ["5s5s", "a unit twice"],
  ["5x", "no unit"],
  ["s", "a unit alone"],
  ["1m later", "a word behind it"],
  ["2021-02-16T09:02:42Z", "a year long over"],
  ["30, soon", "a list with a word in it"],
])('a reset of "%s" is ignored and counted: %s', (value) => {
  expect(advise(200, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": value })).toEqual({
    ...NOTHING,
    remaining: { requests: 0, limit: undefined, resetMs: undefined },
    malformed: 1,
  });
});

test.each<[string, Fields, number]>([
  ["a limit of nothing", { "x-ratelimit-limit": "0" }, 1],
  ["a limit below nothing", { "x-ratelimit-limit": "-2" }, 1],
  ["a limit in words", { "x-ratelimit-limit": "many" }, 1],
  ["a limit with a unit", { "x-ratelimit-limit": "100/h" }, 1],
  ["a limit beyond counting", { "x-ratelimit-limit": "9223372036854775807" }, 1],
  ["a window of nothing", { "x-ratelimit-limit": "100;w=0" }, 1],
  ["a window that is none", { "x-ratelimit-limit": "100;w=" }, 1],
  ["a remainder below nothing", { "x-ratelimit-remaining": "-66181" }, 1],
  ["a remainder that is none", { "x-ratelimit-remaining": "" }, 1],
  [
    "each field of three",
    { "x-ratelimit-limit": "?", "x-ratelimit-remaining": "?", "x-ratelimit-reset": "?" },
    3,
  ],
  ["each field that came twice", { "x-ratelimit-limit": ["?", "?"] }, 2],
  ["RateLimit without a remainder", { RateLimit: '"default";t=30' }, 1],
  ["RateLimit with less than nothing", { RateLimit: '"default";r=-1;t=30' }, 1],
  ["RateLimit with a reset too far off", { RateLimit: '"default";r=0;t=2678401' }, 1],
  ["RateLimit with a reset in quotes", { RateLimit: '"default";r=0;t="30"' }, 1],
  ["RateLimit, one good and one bad", { RateLimit: '"a";r=0;t=30, "b"' }, 1],
  ["RateLimit of numbers", { RateLimit: "50;r=0;t=30" }, 1],
  ["RateLimit, empty", { RateLimit: "" }, 1],
  ["a dictionary of words", { RateLimit: "limit=many, remaining=some" }, 1],
  ["a dictionary of strangers", { RateLimit: "policy=protection, burst=9" }, 1],
  ["a policy without a quota", { "RateLimit-Policy": '"default";w=60' }, 1],
  ["a policy of nothing", { "RateLimit-Policy": '"default";q=0;w=60' }, 1],
  ["a policy with a window of nothing", { "RateLimit-Policy": '"default";q=10;w=0' }, 1],
  ["a policy that is cut off", { "RateLimit-Policy": '"default";q=10;w=' }, 1],
  ["both standard fields", { "RateLimit-Policy": "\u0000", RateLimit: "\u00ff" }, 2],
])("what cannot be read is ignored and counted: %s", (_, fields, malformed) => {
  expect(advise(200, fields)).toEqual({ ...NOTHING, malformed });
});

test.each([200, 204, 301, 404, 500, 429, 402, 503])(
  "a spent limit pauses the budget until its reset, whatever the status: %i",
  (status) => {
    const hints = advise(status, { RateLimit: '"default";r=0;t=30' });
    expect(hints.pause).toEqual({ scope: "budget", forMs: 30_000, source: "rate_limit" });
    expect(hints.remaining).toEqual({ requests: 0, limit: undefined, resetMs: 30_000 });
  },
);

test("of two spent limits the later reset counts", () => {
  const hints = advise(429, {
    "RateLimit-Policy": '"burst";q=100;w=60,"daily";q=1000;w=86400',
    RateLimit: '"daily";r=0;t=7200, "burst";r=0;t=30',
  });
  expect(hints.pause?.forMs).toBe(7_200_000);
  expect(hints.remaining).toEqual({ requests: 0, limit: 1000, resetMs: 7_200_000 });
  expect(hints.exhaustedPerMs).toBe(DAY_MS);
});

test("a spent limit without a reset is no pause by itself", () => {
  expect(advise(200, { "X-RateLimit-Remaining": "0" }).pause).toBeUndefined();
  expect(advise(429, { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0" }).pause).toBeUndefined();
});

test("of a Retry-After and the reset of a spent limit, the longer holds", () => {
  const fields = { "Retry-After": "5", RateLimit: '"default";r=0;t=30' };
  expect(advise(429, fields).pause).toEqual({ scope: "budget", forMs: 30_000, source: "rate_limit" });
  expect(advise(429, { ...fields, "Retry-After": "40" }).pause).toMatchObject({ forMs: 40_000 });
  expect(advise(503, fields).pause).toEqual({ scope: "upstream", forMs: 5000, source: "retry_after" });
  expect(advise(200, fields).pause).toEqual({ scope: "budget", forMs: 30_000, source: "rate_limit" });
});

test("a limit that tells what is left tells its reset with every answer, and only who throttles us means a wait by it", () => {
  const fields = {
    "X-RateLimit-Limit": "5000",
    "X-RateLimit-Remaining": "4999",
    "X-RateLimit-Reset-After": "3000",
  };
  for (const status of [500, 503, 404, 401, 403, 302]) expect(advise(status, fields).pause).toBeUndefined();
  expect(advise(429, fields).pause).toEqual({ scope: "budget", forMs: 3_000_000, source: "retry_after" });
  const asking = { ...fields, "Retry-After": "5" };
  expect(advise(503, asking).pause).toEqual({ scope: "upstream", forMs: 5_000, source: "retry_after" });
  const spent = { ...fields, "X-RateLimit-Remaining": "0" };
  expect(advise(500, spent).pause).toEqual({ scope: "budget", forMs: 3_000_000, source: "rate_limit" });
});

test.each([
  ["a year", "31536000"],
  ["more than a lifetime", "999999999999999"],
])("a wait of %s is bounded and counted", (_, value) => {
  expect(advise(429, { "Retry-After": value })).toMatchObject({
    pause: { scope: "budget", forMs: LONGEST_WAIT_MS, source: "retry_after" },
    malformed: 1,
  });
});

test("a Retry-After that cannot be read leaves the word to the spent limit", () => {
  const hints = advise(429, { "Retry-After": "soon", RateLimit: '"default";r=0;t=30' });
  expect(hints.pause?.source).toBe("rate_limit");
  expect(hints.malformed).toBe(1);
});

test.each<[string, Fields, number | undefined]>([
  ["by its policy", { "RateLimit-Policy": '"d";q=500;w=86400', RateLimit: '"d";r=0;t=9' }, DAY_MS],
  ["by the name of its field", { "X-RateLimit-Limit-Day": "500", "X-RateLimit-Remaining-Day": "0" }, DAY_MS],
  ["by the name of its field alone", { "X-RateLimit-Remaining-Month": "0" }, 30 * DAY_MS],
  [
    "by the one policy with the same number",
    {
      "RateLimit-Limit": "500",
      "RateLimit-Remaining": "0",
      "X-RateLimit-Limit-Day": "500",
      "X-RateLimit-Limit-Minute": "20",
    },
    DAY_MS,
  ],
  [
    "not where two policies have that number",
    { "RateLimit-Limit": "500, 500;w=60, 500;w=86400", "RateLimit-Remaining": "0" },
    undefined,
  ],
  [
    "not where something is left",
    { "X-RateLimit-Limit-Day": "500", "X-RateLimit-Remaining-Day": "1" },
    undefined,
  ],
])("the window of the spent limit is known %s", (_, fields, perMs) => {
  expect(advise(429, fields).exhaustedPerMs).toBe(perMs);
});

test("a window that two limits share has the lower one", () => {
  const { limits } = advise(200, { "RateLimit-Policy": "100;w=60, 80;w=60, 90;w=60" });
  expect(limits).toEqual([{ requests: 80, perMs: MINUTE_MS }]);
});

test("nothing left and nothing used pauses until the reset, though no limit is told", () => {
  const spent = { "X-RateLimit-Remaining": "0", "X-RateLimit-Used": "0", "X-RateLimit-Reset": "30" };
  expect(advise(200, spent).pause).toEqual({ forMs: 30_000, scope: "budget", source: "rate_limit" });
});

test.each<[string, Fields]>([
  ["a session", { "X-Session-Left": "0", "X-Session-Reset": "1800" }],
  [
    "a session that says its number",
    { "X-Session-Limit": "5", "X-Session-Remaining": "0", "X-Session-Reset": "1800" },
  ],
  ["votes", { "X-Votes-Limit": "3", "X-Votes-Remaining": "0", "X-Votes-Reset": "86400" }],
  ["money", { "X-Balance-Left": "0", "X-Balance-Reset": "86400" }],
  ["megabytes", { "X-Mb-Limit": "100", "X-Mb-Left": "0", "X-Mb-Reset": "86400" }],
  ["a cache", { "X-Cache-Remaining": "0", "X-Cache-Reset": "86400" }],
  ["rewards of a day", { "X-Daily-Reward-Remaining": "0", "X-Daily-Reward-Reset": "40000" }],
  ["exports, beside a reset of the rate", { "X-Exports-Left": "0", "X-RateLimit-Reset": "86400" }],
  [
    "votes of a day, beside the limit of a day",
    { "X-RateLimit-Limit-Day": "100", "X-RateLimit-Reset-Day": "3600", "X-Votes-Remaining-Day": "0" },
  ],
  ["logins", { "X-RateLimit-Login-Attempts-Remaining": "0", "X-RateLimit-Login-Attempts-Reset": "86400" }],
  [
    "invites, by the name of their limit",
    { "X-Invites-Limit": "9", "X-Invites-Remaining": "0", "X-Invites-Limit-Reset": "86400" },
  ],
])("no good answer silences its key by what is left of something else: %s", (_of, fields) => {
  expect(advise(200, fields).pause).toBeUndefined();
});

test.each<[string, Fields]>([
  ["votes", { "X-Votes-Limit": "100", "X-Votes-Remaining": "1" }],
  ["coins", { "X-Coins-Limit": "50", "X-Coins-Remaining": "0", "X-Coins-Limit-Reset": "86400" }],
  ["seats", { "X-Seat-Limit": "100", "X-Seat-Remaining": "0" }],
  ["memory", { "X-Memory-Limit": "512", "X-Memory-Remaining": "3" }],
])("what is left of something else, without a window, is no request that is left: %s", (_of, fields) => {
  const { remaining, limits } = advise(200, fields);
  expect({ remaining, limits }).toEqual({ remaining: undefined, limits: [] });
});
