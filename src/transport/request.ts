import { validateHeaderValue } from "node:http";
import type { Clock } from "../kernel/time/clock.ts";
import type { Auth, AuthKinds, Method, Upstream } from "../kernel/config/config.ts";
import type { BodyReading } from "./body-reader.ts";
import { percentEncoded } from "../kernel/text/percent.ts";
import { signatureOf } from "./aws-signature.ts";
import { ACCEPTED_ENCODINGS } from "./decode.ts";
import { WireError } from "./faults.ts";
import type { ProxyServer } from "./proxy.ts";

type TokenRequest = AuthKinds["oauth2"]["token"];

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
  readonly auth: Auth | { readonly kind: "client_credentials"; readonly token: TokenRequest };
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
  const { auth, payload, connection, method, idempotencyKey } = upstream;
  const url = new URL(upstream.url);
  const target = `${forwardProxy === undefined ? "" : url.origin}${url.pathname}${url.search}`;
  const common = staticHeaders(upstream, userAgent, forwardProxy);
  return (key, pollId, clock) => {
    const { path, header, form, secret } = authorize(auth, target, key);
    const byName = new Map(common);
    if (header !== undefined) byName.set(header[0].toLowerCase(), header);
    if (form !== undefined) byName.set("content-type", ["Content-Type", "application/x-www-form-urlencoded"]);
    const headers = [...byName.values()].flat();
    if (idempotencyKey === true && pollId !== undefined) headers.push("Idempotency-Key", pollId);
    const request = {
      method: form === undefined ? (method ?? "GET") : ("POST" as const),
      path,
      headers,
      body: form ?? payload?.bytes ?? null,
      reset: connection !== "reuse",
      secret,
    };
    if (auth.kind !== "aws") return request;
    const signature = signatureOf(url, request, auth, key, clock.wallNow());
    return { ...request, headers: [...headers, ...signature.headers], secret: signature.secret };
  };
}

function staticHeaders(
  upstream: Endpoint,
  userAgent: string,
  forwardProxy: ProxyServer | undefined,
): ReadonlyMap<string, readonly [name: string, value: string]> {
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
  /** A body in place of none: then the request is a POST. */
  readonly form?: string;
  readonly secret?: string;
};

function authorize(auth: Endpoint["auth"], path: string, key: string | undefined): Authorized {
  if (auth.kind === "none") return { path, header: undefined };
  if (key === undefined) throw new WireError("bug", "the key of this upstream is missing");
  switch (auth.kind) {
    case "client_credentials":
      return { path, ...tokenRequest(auth.token, key) };
    case "oauth2":
    case "bearer":
      return { path, header: keyHeader("Authorization", `Bearer ${key}`) };
    case "basic": {
      const secret = Buffer.from(`${auth.user}:${key}`).toString("base64");
      return { path, header: keyHeader("Authorization", `Basic ${secret}`), secret };
    }
    case "header":
      return { path, header: keyHeader(auth.name, `${auth.prefix ?? ""}${key}`) };
    // Each poll has a signature of its own.
    case "aws":
      return { path, header: undefined };
    case "query": {
      const join = path.includes("?") ? "&" : "?";
      // Not as a form does: not every server reads "+" as a space.
      const pair = `${percentEncoded(auth.name)}=${percentEncoded(key)}`;
      return { path: `${path}${join}${pair}`, header: undefined };
    }
    default:
      return auth satisfies never;
  }
}

/** As RFC 6749, section 4.4.2 has it. In Basic, each part is first encoded as in a form (section 2.3.1). */
function tokenRequest(
  { clientId, clientAuth, scopes, parameters }: TokenRequest,
  secret: string,
): Omit<Authorized, "path"> {
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (scopes.length > 0) form.set("scope", scopes.join(" "));
  for (const [name, value] of Object.entries(parameters)) form.set(name, value);
  if (clientAuth === "basic") {
    const pair = `${encodeFormPart(clientId)}:${encodeFormPart(secret)}`;
    const header = keyHeader("Authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    return { header, form: form.toString() };
  }
  form.set("client_id", clientId);
  form.set("client_secret", secret);
  return { header: undefined, form: form.toString() };
}

function encodeFormPart(part: string): string {
  return new URLSearchParams([["", part]]).toString().slice(1);
}

function keyHeader(name: string, value: string): readonly [string, string] {
  try {
    validateHeaderValue(name, value);
    return [name, value];
  } catch {
    throw new WireError("bug", "the key contains characters that a header cannot carry");
  }
}
