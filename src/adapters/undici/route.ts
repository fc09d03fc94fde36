import { lookup as systemLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import type { Upstream } from "../../core/config/config.ts";
import type { Clock } from "../../core/time/clock.ts";
import { chooseProxy, type Environment, hostOf, portOf, type ProxyServer } from "./proxy.ts";
import { TlsMaterial } from "./tls.ts";

/** How to reach an upstream: the same for every connection of one probe. */
export type Route = {
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
export async function findRoute(
  upstream: Upstream,
  environment: Environment,
  clock: Clock,
  lookup: LookupFunction = shareLookups(),
): Promise<Route> {
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
 * Node.js tries the addresses of a name one after the other, and gives up on each but the last after this time. With
 * its default of 250 ms, an upstream whose first packet was lost would count as unreachable.
 */
function familyAttemptMsOf(timeoutMs: number): number {
  return Math.round(Math.min(1_000, Math.max(250, timeoutMs / 4)));
}

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

export type SystemLookup = (hostname: string, options: { readonly all: true }, answer: Answer) => void;

/**
 * The system's resolver blocks one of a few threads until it answers, and cannot be cancelled. A poll that gave up
 * leaves its lookup behind, and the next poll joins it: one upstream never blocks more than one thread.
 */
export function shareLookups(ask: SystemLookup = systemLookup): LookupFunction {
  const waiting = new Map<string, Answer[]>();
  return (hostname, options, callback) => {
    const answers = waiting.get(hostname) ?? [];
    answers.push((error, addresses) => {
      const [first] = addresses ?? [];
      if (options.all === true) callback(error, addresses ?? []);
      else callback(error, first?.address ?? "", first?.family);
    });
    if (answers.length > 1) return;
    waiting.set(hostname, answers);
    ask(hostname, { all: true }, (error, addresses) => {
      waiting.delete(hostname);
      for (const answer of answers) answer(error, addresses);
    });
  };
}
