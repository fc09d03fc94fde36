import { judgingOf } from "../../src/app/features/judging.ts";
import type { Poll } from "../../src/kernel/poll/poll.ts";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { SecretFinder } from "../../src/transport/secrets/finder.ts";
import { decodeBody } from "../../src/transport/decode.ts";
import type { Upstream } from "../../src/kernel/config/config.ts";
import {
  type Exchange,
  headerValue,
  type Headers,
  SMALL_BODY_BYTES,
} from "../../src/kernel/exchange/exchange.ts";
import { judge } from "../../src/kernel/polling/poll-once.ts";
import { samplePollTimes, sampleUpstream } from "../support/kernel-samples.ts";
import { pollStatusOf, type PollStatus } from "../../src/features/history/kept-poll.ts";
import { HEAD_BYTES } from "../../src/transport/poll-client.ts";

type ShapeName = "list" | "deep" | "error" | "page" | "keys" | "text";

/** An answer as a hostile upstream would make it, written in a few words that can be changed one by one. */
export type Recipe = {
  readonly status: number;
  readonly headers: readonly HeaderRecipe[];
  readonly shape: ShapeName;
  readonly piece: number;
  readonly coding: "identity" | "gzip" | "br" | "gzip, gzip, gzip" | "zebra";
};

export type HeaderRecipe = {
  readonly name: number;
  readonly value: number;
  /** How often the value repeats itself, and how often the header comes. */
  readonly times: number;
  readonly headers: number;
};

const KEY = "test-key-0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

export const NAMES: readonly string[] = [
  "x-request-id",
  "x-ratelimit-limit",
  "x-ratelimit-remaining-#",
  "#-ratelimit-limit",
  "ratelimit-policy",
  "ratelimit",
  "x-ratelimit-resource",
  "retry-after",
  "link",
  "warning",
  "deprecation",
  "content-type",
  "date",
  "x-#",
  "#",
  "x-ratelimit-limit-tokens-#-minute",
  "x-error-code",
  "sunset",
  "cf-ray",
  "#-ratelimit-remaining-#-requests",
];

export const VALUES: readonly string[] = [
  "9,",
  '"a";q=9;w=60,',
  '"a";r=0;t=9,',
  "limit=9,remaining=0,",
  "%2541",
  "&amp;",
  "\\u0041",
  base64(base64("harmless harmless")),
  KEY.slice(0, 7),
  "41".repeat(8),
  "65 ",
  "<a>; rel=sunset,",
  '299 - "w" ',
  "\u00ad",
  "z",
  "1d",
  "((((",
  ";a=1",
  "@ExceededQuota",
  "Sun, 06 Nov 1994 08:49:37 GMT",
  `<@${"\u00ad".repeat(1_000)}>;rel="sunset deprecation successor-version",`,
];

export const SHAPES: Readonly<Record<ShapeName, (piece: string) => string>> = {
  list: (piece: string) => `[${`${piece},`.repeat(SMALL_BODY_BYTES / (piece.length + 1) - 2)}${piece}]`,
  deep: (piece: string) => `${"[".repeat(900)}${piece}${"]".repeat(900)}`,
  error: (piece: string) =>
    JSON.stringify({ error: { message: piece.repeat(SMALL_BODY_BYTES / (piece.length * 2)) } }),
  page: (piece: string) => `<html>${`<b>${piece}</b>`.repeat(SMALL_BODY_BYTES / (piece.length + 8))}`,
  keys: (piece: string) =>
    `{${Array.from({ length: 3_000 }, (_, at) => `"${piece.replaceAll(/["\\]/g, "")}${at}":"${at}"`).join()}}`,
  text: (piece: string) => piece.repeat(SMALL_BODY_BYTES / piece.length),
};

export const PIECES: readonly string[] = [
  "{}",
  "[]",
  "0",
  '"x"',
  '{"a":{}}',
  '{"code":"quota_exceeded"}',
  "retry after 5 minutes ",
  "quota exceeded ",
  base64("harmless harmless"),
  "<",
  "&#65;",
  "\\u0041",
];

export type Answer = { readonly status: number; readonly headers: Headers; readonly body: Buffer };

/** Each `#` in a name is a word of its own in each header, and each `@` in a value. Of what would not be read, the end is left out. */
export function answerOf({ status, headers, shape, piece, coding }: Recipe): Answer {
  const body = Buffer.from(SHAPES[shape](PIECES[piece] ?? "")).subarray(0, SMALL_BODY_BYTES);
  let bytes = 0;
  const sent = headers
    .flatMap(({ name, value, times, headers: count }) =>
      Array.from(
        { length: count },
        (_, index) =>
          [
            (NAMES[name] ?? "").replaceAll("#", `a${index}`),
            (VALUES[value] ?? "").replaceAll("@", `a${index}`).repeat(times),
          ] as const,
      ),
    )
    .filter(([name, value]) => (bytes += name.length + value.length + 4) <= HEAD_BYTES);
  const encoding = coding === "identity" ? [] : [["content-encoding", coding] as const];
  return { status, headers: [...encoding, ...sent], body: encoded(body, coding) };
}

function encoded(body: Buffer, coding: Recipe["coding"]): Buffer {
  if (coding === "gzip") return gzipSync(body);
  if (coding === "gzip, gzip, gzip") return gzipSync(gzipSync(gzipSync(body)));
  return coding === "br"
    ? brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })
    : body;
}

export type Cost = {
  readonly poll: Poll;
  readonly kept: PollStatus;
  /** So many characters were searched for keys, in so many texts. */
  readonly searchedChars: number;
  readonly searches: number;
};

const UPSTREAM: Upstream = sampleUpstream({
  expect: { status: [200], json: true, maxBodyBytes: SMALL_BODY_BYTES },
});

/** All that the polling thread does with an answer once it has arrived. */
export function meet({ status, headers, body }: Answer): Cost {
  const finder = new SecretFinder([KEY]);
  let [searchedChars, searches] = [0, 0];
  const withoutKeys = (text: string): string => {
    searchedChars += text.length;
    searches += 1;
    return finder.hide(text);
  };
  const head = { status, reasonPhrase: "", headers };
  const decoded = decodeBody(body, headerValue(headers, "content-encoding"), SMALL_BODY_BYTES);
  const exchange: Exchange =
    decoded.kind === "decoded"
      ? { kind: "answered", head, body: decoded.body }
      : { kind: "broken", fault: decoded.fault, detail: decoded.detail, sent: true, head };
  const times = samplePollTimes({ endedAtMs: 1_790_000_000_000 });
  const observation = {
    exchange,
    durationMs: 1,
    phasesMs: {},
    certificateExpiresAtMs: undefined,
    withoutKeys,
  };
  const poll = judge(UPSTREAM, observation, times, judgingOf(UPSTREAM));
  return { poll, kept: pollStatusOf(poll), searchedChars, searches };
}
