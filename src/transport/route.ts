import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { Clock } from "../kernel/time/clock.ts";
import { type AddressRules, addressRulesOf } from "./address-rules.ts";
import type { Endpoint } from "./request.ts";
import { chooseProxy, type Environment, hostOf, portOf, type ProxyServer } from "./proxy.ts";
import { openTls, type TlsMaterial } from "./tls.ts";

/** How to reach an upstream: the same for every connection of one probe. */
export type Route = {
  readonly host: string;
  readonly port: number;
  /** As people are told of it, and of what we connect to: the upstream, or the proxy before it. */
  readonly upstream: string;
  readonly peer: string;
  /** Undefined for plain HTTP. */
  readonly tls: { readonly name: string; readonly verify: boolean } | undefined;
  readonly proxy: ProxyServer | undefined;
  readonly material: TlsMaterial | undefined;
  readonly names: Names;
  readonly addresses: AddressRules;
  /** Why an address in the config itself must not be reached, be it that of a proxy, or of what is behind it. */
  readonly refusal: string | undefined;
  /** A name that is not resolved by then fails its poll as `dns`, before the whole timeout is gone. */
  readonly lookupTimeoutMs: number;
  readonly familyAttemptMs: number;
  /** A connection may be silent for so long that somebody on the way forgets it: the kernel asks whether it lives. */
  readonly isLong: boolean;
};

export type Names = {
  addressesOf(hostname: string): Promise<LookupAddress[]>;
  /** The addresses of this name did not answer: resolve it anew. */
  forget(hostname: string): void;
};

const LONGEST_LOOKUP_MS = 5_000;

/** A silent connection is asked whether it lives. That takes four calls of the system for each, so not of short ones. */
export const ALIVE_AFTER_MS = 60_000;

/** Throws one sentence where the TLS files or the proxy cannot be used. */
export async function findRoute(
  upstream: Pick<Endpoint, "url" | "timeoutMs" | "connection" | "proxy" | "tls" | "denyAddresses">,
  environment: Environment,
  clock: Clock,
  names: Names,
  onWarning: (message: string) => void,
): Promise<Route> {
  const url = new URL(upstream.url);
  const secure = url.protocol === "https:";
  const host = hostOf(url);
  const proxy = chooseProxy(upstream.proxy, url, environment);
  const { caFile, certFile, keyFile, serverName, insecureSkipVerify } = upstream.tls;
  const hasFiles = [caFile, certFile, keyFile].some((file) => file !== undefined);
  const addresses = addressRulesOf(upstream.denyAddresses);
  const needsTls = secure || proxy?.secure === true || hasFiles;
  const port = portOf(url);
  return {
    host,
    port,
    upstream: `${host}:${port}`,
    peer: proxy === undefined ? `${host}:${port}` : `the proxy ${proxy.host}:${proxy.port}`,
    tls: secure ? { name: (serverName ?? host).replace(/\.$/, ""), verify: !insecureSkipVerify } : undefined,
    proxy,
    material: needsTls ? await openTls(upstream.tls, clock.now(), onWarning) : undefined,
    names,
    addresses,
    refusal: refusalOf(proxy?.host ?? "", addresses) ?? refusalOf(host, addresses),
    lookupTimeoutMs: Math.round(Math.min(LONGEST_LOOKUP_MS, upstream.timeoutMs / 2)),
    familyAttemptMs: familyAttemptMsOf(upstream.timeoutMs),
    isLong: upstream.connection === "reuse" || upstream.timeoutMs > ALIVE_AFTER_MS,
  };
}

/** Of a name, only its addresses can be refused. */
function refusalOf(host: string, rules: AddressRules): string | undefined {
  return isIP(host) === 0 ? undefined : rules(host, host);
}

/**
 * Node.js tries the addresses of a name one after the other, and gives up on each but the last after this time. With
 * its default of 250 ms, an upstream whose first packet was lost would count as unreachable.
 */
function familyAttemptMsOf(timeoutMs: number): number {
  return Math.round(Math.min(1_000, Math.max(250, timeoutMs / 4)));
}
