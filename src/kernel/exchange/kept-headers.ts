/**
 * People see some headers of a refused or broken answer: names, sizes, and the ids that a provider's support asks for.
 */

import type { AnswerHead, Headers, KeptHead, KeptHeader, WithoutKeys } from "./exchange.ts";
import { oneLine } from "../text/escape.ts";
import { wordSet } from "../text/word-set.ts";

/** Of one id that a provider's support asks for, and of all. */
const REQUEST_ID_CHARS = 128;
export const REQUEST_IDS_CHARS = 400;
export const MOST_HEADERS_KEPT = 12;

const LONGEST_NAME = 80;

/** A provider's support asks for these. In lower case; `request_id_headers` in the config adds to them. */
const REQUEST_ID_HEADERS = wordSet(`
  apigw-requestid akamai-grn cf-ray correlation-id fastly-trace-id fly-request-id request-id trace-id
  x-amz-apigw-id x-amz-cf-id x-amz-id-2 x-amz-request-id x-amzn-requestid x-amzn-trace-id x-api-request-id
  x-azure-ref x-b3-traceid x-cloud-trace-context x-correlation-id x-error-id x-fb-trace-id x-github-request-id
  x-goog-request-id x-guploader-uploadid x-iinfo x-message-id x-ms-correlation-request-id x-ms-request-id
  x-msedge-ref x-nf-request-id x-railway-request-id x-request-id x-requestid x-sucuri-id x-trace-id
  x-transaction-id x-vercel-id`);

/**
 * Only request ids keep their value: any other may be a session or a key. `idNames` are the config's own, in lower
 * case.
 */
export function keptHeadOf(
  { status, headers }: AnswerHead,
  idNames: readonly string[],
  withoutKeys: WithoutKeys,
): KeptHead {
  const isId = ([name]: Headers[number]): boolean => REQUEST_ID_HEADERS.has(name) || idNames.includes(name);
  const ids = headers
    .filter(isId)
    .slice(0, MOST_HEADERS_KEPT)
    .map(([name, value]) => ({
      name: oneLine(name, LONGEST_NAME),
      bytes: value.length,
      value: oneLine(value, REQUEST_ID_CHARS),
    }));
  let chars = 0;
  const keptIds = ids.filter(({ name, value }) => (chars += name.length + value.length) <= REQUEST_IDS_CHARS);
  const others = headers
    .filter((header) => !isId(header))
    .slice(0, Math.max(0, MOST_HEADERS_KEPT - keptIds.length))
    .map(([name, value]) => ({ name: oneLine(name, LONGEST_NAME), bytes: value.length, value: "" }));
  // Ids first, so that no number of other headers can push them out.
  const kept = [...keptIds, ...others];
  // All at once, which is cheaper: none of them has a line feed.
  const clean = withoutKeys(kept.flatMap(({ name, value }) => [name, value]).join("\n")).split("\n");
  return {
    status,
    headers: kept.map(({ bytes }, index) => {
      const [name = "", value = ""] = clean.slice(2 * index);
      return index < keptIds.length ? { name, bytes, value } : { name, bytes };
    }),
  };
}

/** `x-request-id: 7f3a, cf-ray: 8c1b`; undefined without one. */
export function requestIdsIn(headers: readonly KeptHeader[] | undefined): string | undefined {
  const ids = (headers ?? []).flatMap(({ name, value }) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return ids.length === 0 ? undefined : ids.join(", ");
}
