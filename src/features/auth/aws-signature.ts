/** Signature Version 4, as Amazon Web Services and those who speak like it ask for. */

import { createHmac, hash, type Hmac } from "node:crypto";
import { percentEncoded } from "../../kernel/text/percent.ts";
import type { Signed, Signer } from "../../transport/request.ts";
import type { Aws } from "./config.ts";
import { headerValue } from "../../kernel/exchange/exchange.ts";
import { parseHttpDate } from "../../kernel/time/http-date.ts";
import { formatDuration } from "../../kernel/time/duration.ts";
import type { JudgingPart, Remark } from "../../kernel/poll/judging.ts";

const ALGORITHM = "AWS4-HMAC-SHA256";

/** The key is the id of the key, the key, and the token of a session where there is one, a line each. */
export function awsSigner({ service, region }: Pick<Aws, "service" | "region">): Signer {
  return (request, key, wallMs) => signatureOf(request, { service, region }, key, wallMs);
}

function signatureOf(
  { url, ...request }: Parameters<Signer>[0],
  { service, region }: Pick<Aws, "service" | "region">,
  keys: string,
  wallMs: number,
): Signed {
  const [accessKeyId = "", secretAccessKey = "", sessionToken] = keys.split("\n");
  const time = new Date(wallMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const date = time.slice(0, 8);
  const digest = hash("sha256", request.body ?? "");
  const added = [
    "X-Amz-Date",
    time,
    ...(sessionToken === undefined ? [] : ["X-Amz-Security-Token", sessionToken]),
    ...(service === "s3" ? ["X-Amz-Content-Sha256", digest] : []),
  ];
  const signed = signedHeaders(["host", url.host, ...request.headers, ...added]);
  const names = signed.map(([name]) => name).join(";");
  const canonical = [
    request.method,
    service === "s3" ? url.pathname : encodedPath(url.pathname),
    sortedQuery(url.search),
    ...signed.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    digest,
  ].join("\n");
  const credential = `${date}/${region}/${service}/aws4_request`;
  const text = [ALGORITHM, time, credential, hash("sha256", canonical)].join("\n");
  const key = [date, region, service, "aws4_request"].reduce<string | Buffer>(
    (last, part) => hmac(last, part).digest(),
    `AWS4${secretAccessKey}`,
  );
  const signature = hmac(key, text).digest("hex");
  const value = `${ALGORITHM} Credential=${accessKeyId}/${credential}, SignedHeaders=${names}, Signature=${signature}`;
  const derived = Buffer.from(key);
  return {
    headers: [...added, "Authorization", value],
    secret: [signature, derived.toString("hex"), derived.toString("base64")].join("\n"),
  };
}

/** The host, and of the other headers those that only we set: whatever passes a request on may change the rest. */
function signedHeaders(all: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < all.length; at += 2) {
    const name = (all[at] ?? "").toLowerCase();
    const isSigned = name === "host" || name === "content-type" || name.startsWith("x-amz-");
    if (isSigned) pairs.push([name, (all[at + 1] ?? "").trim().replaceAll(/ +/g, " ")]);
  }
  return pairs.sort(byName);
}

/** It encodes once more what is encoded already. */
function encodedPath(path: string): string {
  return path
    .replaceAll(/\/{2,}/g, "/")
    .split("/")
    .map(percentEncoded)
    .join("/");
}

function sortedQuery(query: string): string {
  return [...new URLSearchParams(query)]
    .map(([name, value]): [string, string] => [percentEncoded(name), percentEncoded(value)])
    .sort(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function byName([a, one]: readonly [string, string], [b, other]: readonly [string, string]): number {
  if (a !== b) return a < b ? -1 : 1;
  return one < other ? -1 : Number(one > other);
}

function hmac(key: string | Buffer, text: string): Hmac {
  return createHmac("sha256", key).update(text);
}

/** A signature of another time is refused. Five minutes are allowed, and an answer is a moment on its way. */
const MOST_SKEW_MS = 4 * 60_000;

/** An answer that refuses a signature may do so as our own clock is wrong. */
const clockSkew: Remark = ({ head, endedAtMs }) => {
  if (head.status < 400 || head.status >= 500) return "";
  const theirsMs = parseHttpDate(headerValue(head.headers, "date") ?? "", endedAtMs);
  const skewMs = theirsMs === undefined ? 0 : endedAtMs - theirsMs;
  if (Math.abs(skewMs) <= MOST_SKEW_MS) return "";
  const skew = formatDuration(Math.round(Math.abs(skewMs) / 1_000) * 1_000);
  return `: our clock is ${skew} ${skewMs > 0 ? "ahead" : "behind"}, and a signature of another time is refused`;
};

export const SIGNATURES: JudgingPart = {
  of: ({ auth }) => (auth?.kind === "aws" ? { remarks: [clockSkew] } : {}),
};
