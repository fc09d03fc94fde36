import { type Behaviour, briefly, drips, ENDLESS_BYTES, pours, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

const slowly = { timeoutMs: 900 };

/** Answers that would never end. */
export const SILENCES: readonly Behaviour[] = [
  {
    does: "reads the request and never answers",
    open: serving(replies("")),
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while waiting for the answer",
  },
  {
    does: "stops within the headers",
    open: serving(replies("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Half")),
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while waiting for the answer",
  },
  {
    does: "stops before the body",
    open: serving(replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")),
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while reading the answer, after it had answered 200",
  },
  {
    does: "stops within the body",
    open: serving(replies('HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"data":[')),
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while reading the answer, after it had answered 200",
  },
  {
    does: "never ends a body without a length",
    open: serving(replies("HTTP/1.1 200 OK\r\n\r\n{}")),
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while reading the answer, after it had answered 200",
  },
  {
    does: "never sends the last chunk",
    open: serving(replies("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")),
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while reading the answer, after it had answered 200",
  },
  {
    does: "sends a byte of its headers every half second",
    open: serving(drips("HTTP/1.1 200 OK\r\nX-Slow: ", "0123456789", 500)),
    poll: { timeoutMs: 1_200 },
    meets: "failed timeout",
    says: "timed out after 1200 ms while waiting for the answer",
  },
  {
    does: "sends a byte of its body each second",
    open: serving(drips("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n[", "1,2,3,", 1_000)),
    poll: { timeoutMs: 1_200 },
    meets: "failed timeout",
    says: "timed out after 1200 ms while reading the answer, after it had answered 200",
  },
  {
    does: "sends an empty line now and then",
    open: serving(drips("\r\n", "\r\n", 20)),
    poll: slowly,
    meets: "failed timeout",
    says: "timed out after 900 ms while waiting for the answer",
  },
  {
    does: "says 102 Processing again and again, and never more",
    open: serving(drips("", "HTTP/1.1 102 Processing\r\n\r\n", 5)),
    poll: slowly,
    meets: "failed timeout",
    says: "timed out after 900 ms while waiting for the answer",
  },
  {
    does: "says 102 Processing thousands of times",
    open: serving(pours("", "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000), ENDLESS_BYTES)),
    meets: "failed protocol",
    says: "more than 100 informational answers, or 500 headers of them",
  },
  {
    does: "sends empty lines without end",
    open: serving(pours("", "\r\n".repeat(16_384), ENDLESS_BYTES)),
    meets: "failed protocol",
    says: "the headers of the answer are too large",
  },
  {
    does: "hints at what is to come, and then answers",
    open: serving(
      replies(
        `${"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(3)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`,
      ),
    ),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
];
