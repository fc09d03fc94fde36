import { type Behaviour, ENDLESS_BYTES, pours, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

const BODY = "Content-Length: 2\r\n\r\n{}";

function answering(statusLine: string, headers = ""): Behaviour["open"] {
  return serving(replies(`${statusLine}\r\n${headers}${BODY}`, "end"));
}

const withHeaders = (headers: string): Behaviour["open"] => answering("HTTP/1.1 200 OK", headers);

/** Status lines and headers. */
export const HEADS: readonly Behaviour[] = [
  {
    does: "speaks another protocol",
    open: serving(replies("* OK IMAP4rev1 ready\r\n", "end")),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Expected HTTP/, RTSP/ or ICE/",
  },
  {
    does: "answers as HTTP/0.9 did: a body and nothing else",
    open: serving(replies("{}\n", "end")),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Expected HTTP/, RTSP/ or ICE/",
  },
  {
    does: "answers in HTTP/2 without being asked to",
    open: serving(replies(new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0]), "end")),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Expected HTTP/, RTSP/ or ICE/",
  },
  {
    does: "answers in HTTP/1.0",
    open: answering("HTTP/1.0 200 OK"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "answers in HTTP/9.9",
    open: answering("HTTP/9.9 200 OK"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid HTTP version",
  },
  {
    does: "answers with a status that is no number",
    open: answering("HTTP/1.1 2xx OK"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid status code",
  },
  {
    does: "answers with a status of two digits",
    open: answering("HTTP/1.1 20 OK"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid status code",
  },
  {
    does: "answers with a status of four digits",
    open: answering("HTTP/1.1 2000 OK"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid response status",
  },
  {
    does: "answers with a negative status",
    open: answering("HTTP/1.1 -200 OK"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid status code",
  },
  {
    does: "answers without a reason phrase",
    open: answering("HTTP/1.1 200"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "ends its lines with a line feed only",
    open: serving(replies("HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", "end")),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Missing expected CR after response line",
  },
  {
    does: "puts a NUL into a header",
    open: withHeaders("X-Nul: a\u0000b\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid header value char",
  },
  {
    does: "puts an escape code into a header",
    open: withHeaders("X-Escape: \u001b[2J\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid header value char",
  },
  {
    does: "puts a carriage return into a header",
    open: withHeaders("X-Return: a\rSet-Cookie: b\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Missing expected LF after header value",
  },
  {
    does: "sends a header without a colon",
    open: withHeaders("X-Broken\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid header token",
  },
  {
    does: "sends a header without a name",
    open: withHeaders(": value\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid header token",
  },
  {
    does: "puts a space before a header's colon",
    open: withHeaders("X-Space : value\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Invalid header token",
  },
  {
    does: "folds a header over two lines",
    open: withHeaders("X-Folded: a\r\n b\r\n"),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Unexpected whitespace after header value",
  },
  {
    does: "sends a header of 70 kB",
    open: withHeaders(`X-Long: ${"x".repeat(70_000)}\r\n`),
    meets: "failed protocol",
    says: "the headers of the answer are too large",
  },
  {
    does: "sends a header name of 70 kB",
    open: withHeaders(`${"X".repeat(70_000)}: 1\r\n`),
    meets: "failed protocol",
    says: "the headers of the answer are too large",
  },
  {
    does: "sends a reason phrase of 70 kB",
    open: answering(`HTTP/1.1 200 ${"x".repeat(70_000)}`),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "sends a reason phrase without end",
    open: serving(pours("HTTP/1.1 200 ", "x".repeat(65_536), ENDLESS_BYTES)),
    meets: "failed protocol",
    says: "the answer is longer than 9437184 bytes, though little of it is body",
  },
  {
    does: "sends a header value of blanks without end",
    open: serving(pours("HTTP/1.1 200 OK\r\nX-Blank: ", " ".repeat(65_536), ENDLESS_BYTES)),
    meets: "failed protocol",
    says: "the answer is longer than 9437184 bytes, though little of it is body",
  },
  {
    does: "sends 6,000 headers",
    open: withHeaders("X-Many: 12345678\r\n".repeat(6_000)),
    meets: "failed protocol",
    says: "the headers of the answer are too large",
  },
  {
    does: "sends 600 headers within 16 KiB",
    open: withHeaders("X-Many: 1234\r\n".repeat(600)),
    meets: "failed protocol",
    says: "the headers of the answer are too large",
  },
  {
    does: "sends 600 headers of one letter, and no end of them",
    open: serving(replies(`HTTP/1.1 200 OK\r\n${"a:\r\n".repeat(600)}`, "stay")),
    meets: "failed protocol",
    says: "the headers of the answer are too large",
  },
  {
    does: "tells to go on, though nothing asked it to",
    open: serving(replies(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n${BODY}`, "end")),
    meets: "failed protocol",
    says: "the answer does not belong to this request",
  },
  {
    does: "sends headers without end",
    open: serving(pours("HTTP/1.1 200 OK\r\n", "X-Endless: 1\r\n".repeat(100), ENDLESS_BYTES)),
    meets: "failed protocol",
    says: "the headers of the answer are too large",
  },
  {
    does: "switches to another protocol",
    open: serving(
      replies("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "end"),
    ),
    meets: "failed protocol",
    says: "the answer does not belong to this request",
  },
  {
    does: "closes within the headers",
    open: serving(replies("HTTP/1.1 200 OK\r\nX-Half", "end")),
    meets: "failed reset",
    says: "the connection was closed before an answer came",
  },
  {
    does: "resets within the headers",
    open: serving(replies("HTTP/1.1 200 OK\r\nX-Half", "reset")),
    meets: "failed reset",
    says: "the connection was closed before an answer came: ECONNRESET",
  },
];
