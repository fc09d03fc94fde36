import { gzipSync } from "node:zlib";
import { drips, pours, replies } from "../../test/support/behaviours/behaviour.ts";
import { answer, type Script } from "../../test/support/raw-upstream.ts";

const GOOD = replies(answer('{"data":[{"id":1},{"id":2}]}', ["Content-Type: application/json"]));
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

function encoded(body: Buffer): Buffer {
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** One of each road to each reason, none so heavy that the upstream's side would slow down the soak. */
const FAULTS: readonly Script[] = [
  replies(answer("{}", [], "500 Broken")),
  replies(answer("{}", [], "503 Busy")),
  replies(answer("<h1>No</h1>", [], "404 Not Found")),
  replies(answer("{}", [], "401 Unauthorized")),
  replies(answer("{}", [], "403 Forbidden")),
  replies(answer("", ["Location: /elsewhere"], "302 Found")),
  replies(answer("{}", [], "999 Odd")),
  replies(answer("{}", [], "201 Created")),
  replies(answer("", [])),
  replies(answer("<html>maintenance</html>")),
  replies(answer('{"data":[{"id":')),
  replies(answer("[".repeat(5_000))),
  replies(answer(Buffer.from([0xff, 0xfe]).toString("latin1"))),
  replies(answer("\u001b[2J<script>alert(1)</script>")),
  replies("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "end"),
  replies("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "reset"),
  replies("", "end"),
  replies("", "reset"),
  replies(""),
  replies("HTTP/1.1 200 OK\r\nX-Half"),
  drips("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n[", "1,", 200),
  replies("* OK IMAP4 ready\r\n", "end"),
  replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "end"),
  replies(`${CHUNKED}zz\r\n{}\r\n`, "end"),
  replies(`HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(70_000)}\r\n\r\n`, "end"),
  replies("HTTP/1.1 102 Processing\r\n\r\n".repeat(101)),
  replies(encoded(gzipSync(Buffer.alloc(3_000_000)))),
  replies(encoded(gzipSync("{}").subarray(0, 15))),
  pours(CHUNKED, `4000\r\n${"x".repeat(0x4000)}\r\n`, 2_000_000),
];

const THROTTLES: readonly Script[] = [
  replies(answer("{}", ["Retry-After: 3"], "429 Slow Down")),
  replies(answer("{}", [], "402 Payment Required")),
  replies(answer("{}", ['RateLimit-Policy: "a";q=1000;w=60', 'RateLimit: "a";r=0;t=2'])),
];

/** Told without a status code, so that newcomers bring the same series all the time. */
const WORDLESS: readonly Script[] = [replies("", "end"), replies("", "reset"), replies("")];

/** Two polls in five meet a fault; which one, goes on with time. */
const GOOD_OF_FIVE = 3;

function faultsOf(kind: string): readonly Script[] {
  if (kind === "throttling") return THROTTLES;
  return kind === "guest" ? WORDLESS : FAULTS;
}

/** What an upstream does in one step of the cycle. */
export function scriptFor(upstream: string, step: number): Script {
  const [, kind = "", number = ""] = /^([a-z]+)(\d+)$/.exec(upstream) ?? [];
  const index = Number(number);
  if ((index + step) % 5 < GOOD_OF_FIVE) return GOOD;
  const faults = faultsOf(kind);
  return faults[(index * 7 + step) % faults.length] ?? GOOD;
}
