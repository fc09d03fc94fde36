import { type Behaviour, ENDLESS_BYTES, pours, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

const CHUNKED = "Transfer-Encoding: chunked";

/** These headers, and the rest of the answer; then the connection stays open, unless told otherwise. */
function framed(headers: string, rest: string, then: "end" | "reset" | "stay" = "end"): Behaviour["open"] {
  return serving(replies(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n${rest}`, then));
}

function chunksWithoutEnd(first: string, piece: string): Behaviour["open"] {
  return serving(pours(`HTTP/1.1 200 OK\r\n${CHUNKED}\r\n\r\n${first}`, piece, ENDLESS_BYTES));
}

/** Where an answer ends, and where it says that it ends. */
export const FRAMING: readonly Behaviour[] = [
  {
    does: "says a length that is no number",
    open: framed("Content-Length: two", "{}"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid character in Content-Length",
  },
  {
    does: "says a negative length",
    open: framed("Content-Length: -2", "{}"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid character in Content-Length",
  },
  {
    does: "says a length beyond 64 bits",
    open: framed("Content-Length: 99999999999999999999", "{}"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  },
  {
    does: "says an empty length",
    open: framed("Content-Length: ", "{}"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Empty Content-Length",
  },
  {
    does: "says two lengths",
    open: framed("Content-Length: 2\r\nContent-Length: 3", "{}"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  },
  {
    does: "says two lengths in one header",
    open: framed("Content-Length: 2, 3", "{}"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  },
  {
    does: "says the same length twice",
    open: framed("Content-Length: 2\r\nContent-Length: 2", "{}"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  },
  {
    does: "says a length and chunks",
    open: framed(`Content-Length: 2\r\n${CHUNKED}`, "2\r\n{}\r\n0\r\n\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  },
  {
    does: "says a transfer encoding that nobody knows",
    open: framed("Transfer-Encoding: zebra", "{}"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "says that its chunks are chunked",
    open: framed(`${CHUNKED}\r\n${CHUNKED}`, "2\r\n{}\r\n0\r\n\r\n"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "sends more than the length it said",
    open: framed("Content-Length: 2", "{}HTTP/1.1 500 No\r\n\r\n"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "sends a chunk whose size is no number",
    open: framed(CHUNKED, "zz\r\n{}\r\n0\r\n\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid character in chunk size, after it had answered 200",
  },
  {
    does: "sends a chunk of a negative size",
    open: framed(CHUNKED, "-2\r\n{}\r\n0\r\n\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid character in chunk size, after it had answered 200",
  },
  {
    does: "sends a chunk of a size beyond 64 bits",
    open: framed(CHUNKED, `${"f".repeat(17)}\r\n{}\r\n0\r\n\r\n`),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Chunk size overflow, after it had answered 200",
  },
  {
    does: "sends a chunk longer than its size",
    open: framed(CHUNKED, "1\r\n{}\r\n0\r\n\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Expected LF after chunk data, after it had answered 200",
  },
  {
    does: "sends chunks with extensions and trailers",
    open: framed(CHUNKED, '2;a="b"\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n'),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "sends chunk extensions without end",
    open: chunksWithoutEnd("2;", "x".repeat(65_536)),
    meets: "failed protocol",
    says: "the answer is longer than 9437184 bytes, though little of it is body, after it had answered 200",
  },
  {
    does: "sends 64 KiB of chunk extensions with each byte of its body",
    open: chunksWithoutEnd("", `1;${"x".repeat(65_536)}\r\n1\r\n`),
    meets: "failed protocol",
    says: "the answer is longer than 9437184 bytes, though little of it is body, after it had answered 200",
  },
  {
    does: "sends its body in chunks of one byte, without end",
    open: chunksWithoutEnd("", "1\r\n1\r\n".repeat(10_000)),
    meets: "failed body_too_large",
    says: "the body exceeds 1048576 bytes, after it had answered 200",
  },
  {
    does: "sends trailers without end",
    open: chunksWithoutEnd("2\r\n{}\r\n0\r\n", "X-Trailer: 1\r\n".repeat(1_000)),
    meets: "failed protocol",
    says: "the headers of the answer are too large, after it had answered 200",
  },
  {
    does: "sends 600 trailers of one letter, and no end of them",
    open: framed(CHUNKED, `2\r\n{}\r\n0\r\n${"a:\r\n".repeat(600)}`, "stay"),
    meets: "failed protocol",
    says: "the headers of the answer are too large, after it had answered 200",
  },
  {
    does: "closes before the body is complete",
    open: framed("Content-Length: 99", "{}"),
    meets: "failed reset",
    says: "the connection was closed before the answer was complete, after it had answered 200",
  },
  {
    does: "closes before the last chunk",
    open: framed(CHUNKED, "2\r\n{}\r\n"),
    meets: "failed reset",
    says: "the connection was closed before the answer was complete, after it had answered 200",
  },
  {
    does: "closes within a chunk",
    open: framed(CHUNKED, "ff\r\n{}"),
    meets: "failed reset",
    says: "the connection was closed before the answer was complete, after it had answered 200",
  },
  {
    does: "resets in the middle of the body",
    open: framed("Content-Length: 99", "{}", "reset"),
    meets: "failed reset",
    says: "the connection was closed before the answer was complete: ECONNRESET, after it had answered 200",
  },
  {
    does: "resets between two chunks",
    open: framed(CHUNKED, "2\r\n{}\r\n", "reset"),
    meets: "failed reset",
    says: "the connection was closed before the answer was complete: ECONNRESET, after it had answered 200",
  },
  {
    does: "resets in the middle of a body without a length",
    open: framed("Connection: close", "{}", "reset"),
    meets: "failed reset",
    says: "the connection was reset before the answer was complete, after it had answered 200",
  },
  {
    does: "ends a body without a length by closing",
    open: framed("Connection: close", "{}"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
];
