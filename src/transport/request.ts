import { validateHeaderValue } from "node:http";
import type { Clock } from "../kernel/time/clock.ts";
import type { Auth, Method, Upstream } from "../kernel/config/config.ts";
import type { BodyReading } from "./body-reader.ts";
import { percentEncoded } from "../kernel/text/percent.ts";
import { ACCEPTED_ENCODINGS } from "./decode.ts";
import { WireError } from "./faults.ts";
import type { ProxyServer } from "./proxy.ts";

/** Authorises a request where its key is not simply sent. Throws a WireError where it cannot. */
export type Signer = (
  request: Pick<WireRequest, "method" | "headers" | "body"> & {
    readonly url: Pick<URL, "host" | "pathname" | "search">;
  },
  key: string,
  wallMs: number,
) => Signed;

export type Signed = {
  /** To be sent besides those that were there. */
  readonly headers: readonly string[];
  readonly body?: string;
  /** What was made of the key: whoever has it can sign, or repeat this request. */
  readonly secret?: string;
};

export type WireRequest = {
  readonly method: Method;
  readonly path: string;
  readonly headers: string[];
  readonly body: string | Uint8Array | null;
  /** Tells the server that the connection closes after the answer. */
  readonly reset: boolean;
  /** What was made of the key and is in its headers: as secret as the key. */
  readonly secret?: string | undefined;
};

export type Payload = { readonly type: string; readonly bytes: Uint8Array };

/** A probe sends its requests here: to an upstream, or to the token endpoint of several. */
export type Endpoint = Pick<
  Upstream,
  | "name"
  | "url"
  | "method"
  | "headers"
  | "idempotencyKey"
  | "timeoutMs"
  | "connection"
  | "proxy"
  | "tls"
  | "denyAddresses"
> & {
  /** Absent where the answer is read as a whole. */
  readonly reading?: BodyReading | undefined;
  readonly auth: Auth;
  /** Absent where its key is sent. */
  readonly sign?: Signer | undefined;
  readonly payload?: Payload | undefined;
  readonly expect: Pick<Upstream["expect"], "maxBodyBytes"> & Partial<Pick<Upstream["expect"], "status">>;
};

/** Throws a WireError where the key cannot be sent as it is. */
export type BuildRequest = (key: string | undefined, pollId: string | undefined, clock: Clock) => WireRequest;

/** Builds the requests of an upstream or a token endpoint. */
export function requestBuilder(
  upstream: Endpoint,
  userAgent: string,
  forwardProxy: ProxyServer | undefined,
): BuildRequest {
  const { auth, sign, payload, connection, method = "GET", idempotencyKey } = upstream;
  const { origin, host, pathname, search } = new URL(upstream.url);
  const url = { host, pathname, search };
  const target = `${forwardProxy === undefined ? "" : origin}${pathname}${search}`;
  const requestWith = (key: string): WireRequest => {
    const { path, header, secret } = authorize(auth, target, key);
    const byName = staticHeaders(upstream, userAgent, forwardProxy);
    if (header !== undefined) byName.set(header[0].toLowerCase(), header);
    const headers = [...byName.values()].flat();
    return { method, path, headers, body: payload?.bytes ?? null, reset: connection !== "reuse", secret };
  };
  // Most keys stay for many polls, and with its key a request: to make one takes 3 µs and 20 objects.
  let last: { readonly key: string | undefined; readonly request: WireRequest } | undefined;
  return (key, pollId, clock) => {
    if (key === undefined && (auth.kind !== "none" || sign !== undefined))
      throw new WireError("bug", "the key of this upstream is missing");
    if (last === undefined || last.key !== key) last = { key, request: requestWith(key ?? "") };
    const own = idempotencyKey === true && pollId !== undefined ? ["Idempotency-Key", pollId] : [];
    if (own.length === 0 && sign === undefined) return last.request;
    const request = { ...last.request, headers: [...last.request.headers, ...own] };
    if (sign === undefined) return request;
    const signed = sign({ ...request, url }, key ?? "", clock.wallNow());
    return { ...request, ...signed, headers: [...request.headers, ...signed.headers] };
  };
}

function staticHeaders(
  upstream: Endpoint,
  userAgent: string,
  forwardProxy: ProxyServer | undefined,
): Map<string, readonly [name: string, value: string]> {
  const { reading } = upstream;
  const headers = new Map<string, readonly [string, string]>([
    ["user-agent", ["User-Agent", userAgent]],
    ["accept", ["Accept", reading?.accept ?? "application/json"]],
    // What is encoded comes in blocks, so that the times of its events are lost.
    ["accept-encoding", ["Accept-Encoding", reading === undefined ? ACCEPTED_ENCODINGS : "identity"]],
    ["content-type", ["Content-Type", upstream.payload?.type ?? "application/json"]],
  ]);
  for (const [name, value] of Object.entries(upstream.headers))
    headers.set(name.toLowerCase(), [name, value]);
  const credentials = forwardProxy?.authorization;
  if (credentials !== undefined) headers.set("proxy-authorization", ["Proxy-Authorization", credentials]);
  return headers;
}

type Authorized = {
  readonly path: string;
  readonly header: readonly [string, string] | undefined;
  readonly secret?: string;
};

function authorize(auth: Auth, path: string, key: string): Authorized {
  if (auth.kind === "bearer") return { path, header: keyHeader("Authorization", `Bearer ${key}`) };
  if (auth.kind === "header") return { path, header: keyHeader(auth.name, `${auth.prefix ?? ""}${key}`) };
  if (auth.kind === "basic") {
    const secret = Buffer.from(`${auth.user}:${key}`).toString("base64");
    return { path, header: keyHeader("Authorization", `Basic ${secret}`), secret };
  }
  if (auth.kind === "query") {
    const join = path.includes("?") ? "&" : "?";
    // Not as a form does: not every server reads "+" as a space.
    const pair = `${percentEncoded(auth.name)}=${percentEncoded(key)}`;
    return { path: `${path}${join}${pair}`, header: undefined };
  }
  // There is no key, or a feature signs with it.
  return { path, header: undefined };
}

export function keyHeader(name: string, value: string): readonly [string, string] {
  try {
    validateHeaderValue(name, value);
    return [name, value];
  } catch {
    throw new WireError("bug", "the key contains characters that a header cannot carry");
  }
}
