import { PAGE_STYLE_HASH } from "../../features/page/shell.ts";
import type { HttpAnswer } from "../guards/guard.ts";

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src '${PAGE_STYLE_HASH}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const RESPONSE_HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** On every answer, errors included. `extra` comes from the web config file and wins. */
export function withResponseHeaders(
  { status, headers, body }: HttpAnswer,
  extra: Readonly<Record<string, string>> = {},
): HttpAnswer {
  // Whatever their case, the last one counts.
  const all = [RESPONSE_HEADERS, extra, headers].flatMap((each) => Object.entries(each));
  return {
    status,
    headers: Object.fromEntries(all.map(([name, value]) => [name.toLowerCase(), value])),
    body,
  };
}
