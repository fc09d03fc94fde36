import { PAGE_STYLE_HASH } from "../page/shell.ts";
import type { Guard } from "../guards/guard.ts";

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src '${PAGE_STYLE_HASH}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export const RESPONSE_HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** On every answer, errors included. `extra` comes from the web config file and wins. */
export function responseHeaders(extra: () => Readonly<Record<string, string>>): Guard {
  return async (c, next) => {
    for (const [name, value] of Object.entries({ ...RESPONSE_HEADERS, ...extra() })) c.header(name, value);
    await next();
  };
}
