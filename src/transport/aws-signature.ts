/** Signature Version 4, as Amazon Web Services and those who speak like it ask for. */

import { createHash, createHmac } from "node:crypto";
import type { AuthKinds } from "../kernel/config/config.ts";
import { percentEncoded } from "../kernel/text/percent.ts";

type Signature = {
  /** To be sent besides those that were there. */
  readonly headers: readonly string[];
  /** What was made of the secret key: whoever has one of these can sign, or repeat this request. */
  readonly secret: string;
};

const ALGORITHM = "AWS4-HMAC-SHA256";

/** `keys`: the id of the key, the key, and the token of a session where there is one, a line each. */
export function signatureOf(
  url: Pick<URL, "host" | "pathname" | "search">,
  request: {
    readonly method: string;
    readonly headers: readonly string[];
    readonly body: string | Uint8Array | null;
  },
  { service, region }: Pick<AuthKinds["aws"], "service" | "region">,
  keys: string | undefined,
  wallMs: number,
): Signature {
  const [accessKeyId = "", secretAccessKey = "", sessionToken] = keys?.split("\n") ?? [];
  const time = new Date(wallMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const date = time.slice(0, 8);
  const digest = sha256(request.body ?? "");
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
  const text = [ALGORITHM, time, credential, sha256(canonical)].join("\n");
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

/** What is encoded already is encoded once more. */
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

function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): ReturnType<typeof createHmac> {
  return createHmac("sha256", key).update(text);
}
