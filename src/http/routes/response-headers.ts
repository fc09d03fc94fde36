import type { HttpAnswer } from "../guards/guard.ts";

const CONTENT_SECURITY_POLICY = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const RESPONSE_HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** On every answer, errors included. `extra` comes from the web config file and wins. */
export function withResponseHeaders(
  { status, headers, body }: HttpAnswer,
  extra: Readonly<Record<string, string>> = {},
  styleHash?: string,
): HttpAnswer {
  const style = styleHash === undefined ? "" : `style-src '${styleHash}'; `;
  const policy = { "Content-Security-Policy": `default-src 'none'; ${style}${CONTENT_SECURITY_POLICY}` };
  // Whatever their case, the last one counts.
  const all = [RESPONSE_HEADERS, policy, extra, headers].flatMap((each) => Object.entries(each));
  return {
    status,
    headers: Object.fromEntries(all.map(([name, value]) => [name.toLowerCase(), value])),
    body,
  };
}
