import { answer } from "../raw-upstream.ts";
import { type Behaviour, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

/** It is in each of them. */
export const PAYLOAD_MARK = "pacewatch-payload";

/** What is found in an output unescaped has done what it came for. */
const PAYLOADS = {
  markup: `"><script>alert("pacewatch-payload")</script><img src=x onerror=alert(1)>`,
  escapes: "\u001b[2J\u001b]0;pacewatch-payload\u0007\u009b31m",
  forgedLog: 'no JSON\n{"level":"error","time":"2026-01-01T00:00:00.000Z","msg":"pacewatch-payload"}\n',
  bidi: "\u202epacewatch-payload\u2066\u200b",
  exposition: '"} 1\npacewatch_upstream_up{upstream="pacewatch-payload"} 1\n',
} as const;

const named: Readonly<Record<keyof typeof PAYLOADS, string>> = {
  markup: "markup",
  escapes: "escape codes",
  forgedLog: "a forged line of our log",
  bidi: "text that runs backwards",
  exposition: "a forged metric",
};

/** What is left of each, in the sentence about a body that is no JSON. */
const beginnings: Readonly<Record<keyof typeof PAYLOADS, string>> = {
  markup: `"><script>alert("pacewatch-payload")</s…`,
  escapes: "\\u001b[2J\\u001b]0;pacewatch-payload…",
  forgedLog: 'no JSON\\n{"level":"error","time":"2026-…',
  bidi: "\\u202epacewatch-payload\\u2066\\u200b",
  exposition: '"} 1\\npacewatch_upstream_up{upstream="p…',
};

const kinds = Object.keys(PAYLOADS) as (keyof typeof PAYLOADS)[];

/** A header ends with its line, so there it comes with other blanks. */
const onOneLine = (text: string): string => Buffer.from(text.replaceAll("\n", "\u0085")).toString("latin1");

function inReason(text: string): Uint8Array {
  return Buffer.from(`HTTP/1.1 500 ${onOneLine(text)}\r\nContent-Length: 2\r\n\r\n{}`, "latin1");
}

function inHeaders(text: string): Uint8Array {
  const lines = ["HTTP/1.1 503 Busy", `Retry-After: ${onOneLine(text)}`, `Content-Type: ${onOneLine(text)}`];
  return Buffer.from(`${lines.join("\r\n")}\r\nContent-Length: 2\r\n\r\n{}`, "latin1");
}

/** Texts that attack whoever reads about the failure: a terminal, a page, a log, a scraper. */
export const MARKUP: readonly Behaviour[] = kinds.flatMap((kind): readonly Behaviour[] => [
  {
    does: `puts ${named[kind]} into its reason phrase`,
    open: serving(replies(inReason(PAYLOADS[kind]))),
    meets: "failed server_error",
    says: "answered 500",
  },
  {
    does: `puts ${named[kind]} into its headers`,
    open: serving(replies(inHeaders(PAYLOADS[kind]))),
    // Of these texts, only controls have no place in a header.
    meets: kind === "escapes" ? "failed protocol" : "failed server_error",
    says: kind === "escapes" ? "the answer is not valid HTTP: Invalid header value char" : "answered 503",
  },
  {
    does: `puts ${named[kind]} into its body`,
    open: serving(replies(answer(PAYLOADS[kind]))),
    meets: "failed invalid_body",
    says: `answered 200, but its ${Buffer.byteLength(PAYLOADS[kind])} B are not JSON: they begin with "${beginnings[kind]}"`,
  },
]);
