import { setImmediate as nextTurn } from "node:timers/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import type { Poll } from "../../src/kernel/poll/poll.ts";
import { briefly, type Behaviour } from "../support/behaviours/behaviour.ts";
import { meet } from "../support/behaviours/meet.ts";
import { serving } from "../support/behaviours/stage.ts";
import { bytesOf, mutated, pieces } from "./mutate.ts";
import { promise, type Session, type Target, UNPRINTABLE, within } from "./target.ts";

export type ResponseCase = {
  readonly text: string;
  /** Where the bytes are cut into pieces that come one after the other, as parts of the length. */
  readonly cuts: readonly number[];
  readonly after: "end" | "reset" | "stay";
};

const TIMEOUT_MS = 150;
/** Beyond the deadline: the closing of sockets, and a busy machine. */
const MOST_MS = 8_000;
const MOST_SAID = 300;

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");
const withLength = (head: string, body: string): string =>
  `HTTP/1.1 ${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const JSON_BODY = '{"data":[{"id":1,"name":"one"},{"id":2,"name":"two"}]}';
const CORPUS = [
  withLength("200 OK\r\nContent-Type: application/json", JSON_BODY),
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1b;x=1\r\n${JSON_BODY.slice(0, 27)}\r\n1b\r\n${JSON_BODY.slice(27)}\r\n0\r\nX-T: 1\r\n\r\n`,
  withLength("200 OK\r\nContent-Encoding: gzip", encoded(gzipSync(JSON_BODY))),
  withLength("200 OK\r\nContent-Encoding: br", encoded(brotliCompressSync(JSON_BODY))),
  `HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n${JSON_BODY}`,
  `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${withLength("200 OK\r\nConnection: keep-alive", JSON_BODY)}`,
  withLength(
    "429 Too Many\r\nRetry-After: 7\r\nContent-Type: application/problem+json",
    '{"type":"x:quota-exceeded"}',
  ),
  withLength('200 OK\r\nRateLimit-Policy: "a";q=10;w=60\r\nRateLimit: "a";r=0;t=30', "{}"),
  "HTTP/1.1 204 No Content\r\n\r\n",
  withLength("302 Found\r\nLocation: http://127.0.0.1/", ""),
];

const PIECES = [
  ..."\r\n:;, \t0aF-".split(""),
  ...pieces(
    "\r\n¦\r\n\r\n¦\n\n¦HTTP/1.1 ¦HTTP/1.1 100 Continue\r\n\r\n¦HTTP/1.1 101 Up\r\nUpgrade: x\r\n\r\n",
  ),
  ...pieces("HTTP/2.0 200\r\n"),
  ...pieces("Content-Length: 5\r\n¦Content-Length: -1\r\n¦Content-Length: 99999999999999999999\r\n"),
  ...pieces("Connection: upgrade\r\nUpgrade: h2c\r\n"),
  ...pieces("Transfer-Encoding: chunked\r\n¦Transfer-Encoding: gzip, chunked\r\n"),
  ...pieces("Content-Encoding: gzip, br, deflate\r\n¦Content-Encoding: zebra\r\n"),
  ...pieces("0\r\n\r\n¦ffffffff\r\n¦ffffffffffffffffff\r\n¦-1\r\n¦5\r\nhello\r\n¦000¦099¦199¦418¦999¦1000"),
  ...pieces(
    '\u0000¦\u00ff\u00fe¦\u00ef\u00bb\u00bf¦\u001b[2J¦<script>¦\u00e2\u0080\u00ae¦[[[[[[[[¦{"a":¦NaN¦\\ud800',
  ),
  ...pieces("\u001f\u008b\u0008"),
  "x".repeat(5_000),
  "X-A: 1\r\n".repeat(500),
  "[".repeat(5_000),
];

const cases: fc.Arbitrary<ResponseCase> = fc.record({
  text: mutated(CORPUS, PIECES),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  after: fc.oneof(
    { weight: 8, arbitrary: fc.constant("end" as const) },
    { weight: 2, arbitrary: fc.constant("reset" as const) },
    { weight: 1, arbitrary: fc.constant("stay" as const) },
  ),
});

function piecesOf({ text, cuts }: ResponseCase): readonly Buffer[] {
  const bytes = bytesOf(text);
  const places = [...cuts, 0, 1].map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b);
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

function judge(poll: Poll): void {
  const { outcome, detail, excerpt = "" } = poll;
  promise(outcome.kind !== "ours", `what an upstream did is called a bug of ours: ${detail}`);
  promise(outcome.kind !== "ok" || poll.head?.status === 200, "ok without an answer of 200");
  promise(detail.length <= MOST_SAID && excerpt.length <= MOST_SAID, "too much is said");
  promise(!UNPRINTABLE.test(detail + excerpt), `what is said is not printable: ${detail} ${excerpt}`);
}

async function open(): Promise<Session<ResponseCase>> {
  let playing: ResponseCase = { text: "", cuts: [], after: "end" };
  const stage = await serving(async (connection) => {
    const { after } = playing;
    const pieces = piecesOf(playing);
    await connection.request();
    for (const piece of pieces) {
      connection.write(piece);
      await nextTurn();
    }
    if (after === "end") connection.end();
    if (after === "reset") connection.reset();
  })();
  const behaviour: Behaviour = {
    does: "sends any bytes",
    open: async () => stage,
    poll: { ...briefly, timeoutMs: TIMEOUT_MS },
    meets: "ok",
    says: "",
  };
  return {
    check: async (bytes) => {
      playing = bytes;
      const before = stage.requests();
      judge(await within(MOST_MS, "the poll", meet(behaviour, stage)));
      await within(MOST_MS, "the closing of its connection", stage.idle());
      promise(stage.requests() - before <= 1, "more than one request was sent");
    },
    [Symbol.asyncDispose]: () => stage.close(),
  };
}

export const responsesTarget: Target<ResponseCase> = {
  name: "responses",
  cases,
  kept: [
    [
      "a switch of protocols without the header that says so",
      { text: `HTTP/1.1 101 Up\r\nUpgrade: x\r\n\r\n${CORPUS[0] ?? ""}`, cuts: [], after: "end" },
    ],
    [
      "a status that is less than 100",
      { text: "HTTP/1.1 099 Less\r\nContent-Length: 2\r\n\r\n{}", cuts: [0.5], after: "end" },
    ],
  ],
  open,
};
