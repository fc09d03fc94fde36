import type { LookupFunction } from "node:net";
import type { Upstream } from "../core/config.ts";
import type { Clock } from "../core/ports.ts";
import { shareLookups } from "./undici-lookup.ts";
import { type Environment, type ProxyServer, chooseProxy, hostOf, portOf } from "./undici-proxy.ts";
import { TlsMaterial } from "./undici-tls.ts";

/** The way to an upstream: the same for every connection of one probe. */
export type Way = {
  readonly host: string;
  readonly port: number;
  /** Undefined for plain HTTP. */
  readonly tls: { readonly name: string; readonly verify: boolean } | undefined;
  readonly proxy: ProxyServer | undefined;
  readonly material: TlsMaterial | undefined;
  readonly lookup: LookupFunction;
  readonly familyAttemptMs: number;
};

/** Throws one sentence where the TLS files or the proxy cannot be used. */
export async function findWay(
  upstream: Upstream,
  environment: Environment,
  clock: Clock,
  lookup: LookupFunction = shareLookups(),
): Promise<Way> {
  const url = new URL(upstream.url);
  const secure = url.protocol === "https:";
  const host = hostOf(url);
  const proxy = chooseProxy(upstream.proxy, url, environment);
  const { caFile, certFile, keyFile, serverName, insecureSkipVerify } = upstream.tls;
  const hasFiles = [caFile, certFile, keyFile].some((file) => file !== undefined);
  const needsTls = secure || proxy?.secure === true || hasFiles;
  return {
    host,
    port: portOf(url),
    tls: secure ? { name: (serverName ?? host).replace(/\.$/, ""), verify: !insecureSkipVerify } : undefined,
    proxy,
    material: needsTls ? await TlsMaterial.load(upstream.tls, clock.now()) : undefined,
    lookup,
    familyAttemptMs: familyAttemptMsOf(upstream.timeoutMs),
  };
}

/**
 * Node.js tries the addresses of a name one after the other and gives each but the last this long. Its own 250 ms
 * would call every upstream unreachable whose first packet was lost.
 */
function familyAttemptMsOf(timeoutMs: number): number {
  return Math.round(Math.min(1_000, Math.max(250, timeoutMs / 4)));
}
