import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Auth, Upstream } from "../../core/config/config.ts";
import { ACCEPTED_ENCODINGS } from "./decode.ts";
import { WireError } from "./faults.ts";
import type { ProxyServer } from "./proxy.ts";

export type WireRequest = { readonly path: string; readonly headers: string[] };

/** Headers that frame a request or name its target: only undici writes them. */
const RESERVED: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Builds the request of an upstream, anew only when its key has changed. It sends nothing. */
export class RequestBuilder {
  readonly #auth: Auth;
  readonly #path: string;
  readonly #headers: ReadonlyMap<string, readonly [name: string, value: string]>;
  #built: { readonly key: string | undefined; readonly request: WireRequest } | undefined;

  /** Throws one sentence where a static header cannot be sent. */
  constructor(upstream: Upstream, userAgent: string, forwardProxy: ProxyServer | undefined) {
    const url = new URL(upstream.url);
    this.#auth = upstream.auth;
    this.#path = `${forwardProxy === undefined ? "" : url.origin}${url.pathname}${url.search}`;
    this.#headers = staticHeaders(upstream, userAgent, forwardProxy);
  }

  /** Throws a WireError where the key cannot be sent as it is. */
  build(key: string | undefined): WireRequest {
    if (this.#built !== undefined && this.#built.key === key) return this.#built.request;
    const headers = new Map(this.#headers);
    const { path, header } = authorize(this.#auth, this.#path, key);
    if (header !== undefined) headers.set(header[0].toLowerCase(), header);
    const request = { path, headers: [...headers.values()].flat() };
    this.#built = { key, request };
    return request;
  }
}

function staticHeaders(
  upstream: Upstream,
  userAgent: string,
  forwardProxy: ProxyServer | undefined,
): Map<string, readonly [string, string]> {
  const headers = new Map<string, readonly [string, string]>([
    ["user-agent", ["User-Agent", userAgent]],
    ["accept", ["Accept", "application/json"]],
    ["accept-encoding", ["Accept-Encoding", ACCEPTED_ENCODINGS]],
    ["content-type", ["Content-Type", "application/json"]],
  ]);
  for (const [name, value] of Object.entries(upstream.headers)) {
    const lower = name.toLowerCase();
    if (RESERVED.has(lower) || !isSendable(name, value)) {
      throw new Error(
        `cannot send the headers of ${upstream.name}: "${name}" must be a free name and one line of text`,
      );
    }
    headers.set(lower, [name, value]);
  }
  const credentials = forwardProxy?.authorization;
  if (credentials !== undefined) headers.set("proxy-authorization", ["Proxy-Authorization", credentials]);
  return headers;
}

function isSendable(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

type Authorized = { readonly path: string; readonly header: readonly [string, string] | undefined };

function authorize(auth: Auth, path: string, key: string | undefined): Authorized {
  if (auth.kind === "none") return { path, header: undefined };
  if (key === undefined) throw new WireError("internal", "the key of this upstream is missing");
  switch (auth.kind) {
    case "bearer":
      return { path, header: keyHeader("Authorization", `Bearer ${key}`) };
    case "header":
      return { path, header: keyHeader(auth.name, key) };
    case "query": {
      const join = path.includes("?") ? "&" : "?";
      const pair = `${encodeQueryPart(auth.name)}=${encodeQueryPart(key)}`;
      return { path: `${path}${join}${pair}`, header: undefined };
    }
    default:
      return auth satisfies never;
  }
}

function keyHeader(name: string, value: string): readonly [string, string] {
  if (isSendable(name, value)) return [name, value];
  throw new WireError("internal", "the key contains characters that a header cannot carry");
}

/** As a form does, except for spaces: not every server reads "+" as a space. */
function encodeQueryPart(part: string): string {
  const escape = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(part.toWellFormed()).replace(/[!'()*]/g, escape);
}
