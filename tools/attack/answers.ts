import type { IncomingMessage } from "node:http";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { RawUpstream } from "../../test/support/config-folder.ts";
import { MOST_HEADERS } from "../../src/transport/request-in-flight.ts";

/** What a hostile upstream sends. */
export type HostileAnswer = {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | Buffer;
};

export type Hostility = {
  /** As the row of the table says it. */
  readonly name: string;
  readonly answer: (request: IncomingMessage, turn: number) => HostileAnswer;
  /** Nothing comes after its body, and no end of it. */
  readonly isUnfinished?: boolean;
  /** Its body is all that is sent, as it is, and no end of it. */
  readonly isRaw?: boolean;
  /** Of each upstream that is hostile. */
  readonly config?: (url: string, name: string) => Partial<RawUpstream>;
};

export const KEY = "test-key-3b81e0f7d2";
const MIB = 1_048_576;

const listOf = (bytes: number, piece: string): Buffer =>
  Buffer.from(`[${`${piece},`.repeat(Math.floor((bytes - 2 - piece.length) / (piece.length + 1)))}${piece}]`);

const ids = (turn: number): HostileAnswer["headers"] =>
  Array.from({ length: 50 }, (_, index) => ["X-Request-Id", `${turn}-${index}-`.padEnd(128, "7")]);

/** The first event, the last, what all say together, and the one that is never complete: each as long as it may be. */
const events = ((long = "\u2603".repeat(60_000)) =>
  Buffer.from(
    [{ long, say: "1" }, { say: long }, { long, say: "2" }]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .concat(`data: ${long}`)
      .join(""),
  ))();

const brotli = brotliCompressSync(listOf(MIB, "{}"), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
const gzip = gzipSync(listOf(8 * MIB, "[]"));

/** Each answer is within what a poll reads: 16 KiB of headers, and a body of `max_body`. */
export const HOSTILITIES: Readonly<Record<string, Hostility>> = {
  limits: {
    name: "answers with 7,000 limits in 15 KB of headers",
    answer: () => ({
      status: 200,
      headers: Array.from({ length: 4 }, (_, index) => [`a${index}-ratelimit-limit`, "9,".repeat(1_800)]),
      body: "[]",
    }),
  },
  headers: {
    name: "heads of 500 or 15,000 one-letter headers that never end",
    answer: (_, turn) => ({
      status: 200,
      headers: [],
      body: `HTTP/1.1 200 OK\r\n${"a:\r\n".repeat(turn % 2 === 0 ? MOST_HEADERS : 15_000)}`,
    }),
    isRaw: true,
  },
  ids: {
    name: "failures with 50 request ids each",
    answer: (_, turn) => ({ status: 500, headers: ids(turn), body: `<h1>${turn}</h1>` }),
  },
  keys: {
    name: "limits that are named by the key",
    answer: () => ({
      status: 429,
      headers: [
        ["X-RateLimit-Limit", "100"],
        ["X-RateLimit-Resource", KEY],
        [`X-RateLimit-Limit-${KEY}`, "7"],
        ["RateLimit-Policy", `"${KEY}";q=9;w=60;qu="${KEY}"`],
        ["Retry-After", "1"],
      ],
      body: `{"error":"${KEY}"}`,
    }),
    config: () => ({ auth: { bearer: { file: "key.txt" } } }),
  },
  unfinished: {
    name: "bodies that stop one byte before 1 MiB",
    answer: () => ({
      status: 200,
      headers: [["Content-Length", String(MIB)]],
      body: Buffer.alloc(MIB - 1, " "),
    }),
    isUnfinished: true,
  },
  endless: {
    name: "bodies of 1 MiB that do not tell their length and never end",
    answer: () => ({ status: 200, headers: [], body: Buffer.alloc(MIB, " ") }),
    isUnfinished: true,
  },
  events: {
    name: "streams whose events are as long as they may be, and never end",
    answer: () => ({ status: 200, headers: [["Content-Type", "text/event-stream"]], body: events }),
    isUnfinished: true,
    config: () => ({ stream: { format: "sse", ends: { data: "[DONE]" }, counts: { path: "/say" } } }),
  },
  brotli: {
    name: "JSON of 1 MiB in a few bytes of brotli",
    answer: () => ({ status: 200, headers: [["Content-Encoding", "br"]], body: brotli }),
  },
  gzip: {
    name: "JSON of 8 MiB in 8 KB of gzip, as `max_body` allows",
    answer: () => ({ status: 200, headers: [["Content-Encoding", "gzip"]], body: gzip }),
    config: () => ({ expect: { max_body: "8MiB" } }),
  },
  tokens: {
    name: "access tokens of 8 KiB, and failures with 50 request ids",
    answer: ({ url }, turn) =>
      url?.startsWith("/token") === true
        ? {
            status: 200,
            headers: [],
            body: JSON.stringify({ access_token: `${turn}-`.padEnd(8_192, "aB3-xY9.") }),
          }
        : { status: 500, headers: ids(turn), body: `<h1>${turn}</h1>` },
    config: (url, name) => ({
      auth: {
        oauth2: { token_url: `${url}/token`, client_id: name, client_secret: { file: "key.txt" } },
      },
    }),
  },
  flapping: {
    name: "failures and announcements that are never the same",
    answer: (_, turn) => ({
      status: turn % 2 === 0 ? 200 : 500,
      headers: [
        ["Deprecation", `@${1_700_000_000 + turn}`],
        ["Warning", `299 - "${String(turn).padEnd(3_000, "w")}"`],
        [
          "Link",
          Array.from(
            { length: 6 },
            (_, at) => `<https://${turn}.${at}/${"l".repeat(400)}>; rel=sunset`,
          ).join(),
        ],
        [`x-ratelimit-limit-${turn}-${"n".repeat(4_000)}`, "1"],
        ...(turn % 3 === 0 ? [["Content-Encoding", `zebra${turn}`.padEnd(2_000, "z")] as const] : []),
        ...ids(turn).slice(0, 20),
      ],
      body: "[]",
    }),
  },
};
