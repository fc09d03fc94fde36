import type { LookupFunction } from "node:net";
import type { Upstream } from "../../core/config/config.ts";
import type { Clock } from "../../core/time/clock.ts";
import { chooseProxy, type Environment, hostOf, portOf, type ProxyServer } from "./proxy.ts";
import { TlsMaterial } from "./tls.ts";
import { lookup as systemLookup, type LookupAddress } from "node:dns";

/** The way to an upstream: the same for every connection of one probe. */
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
 * Node.js tries the addresses of a name one after the other and gives each but the last this long. Its own 250 ms
 * would call every upstream unreachable whose first packet was lost.
 */
function familyAttemptMsOf(timeoutMs: number): number {
  return Math.round(Math.min(1_000, Math.max(250, timeoutMs / 4)));
}

export type SystemLookup = (hostname: string, options: { readonly all: true }, callback: Answer) => void;

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/**
 * The system's resolver holds one of a few threads until it answers, and cannot be called off. A poll that gave up
 * leaves its question behind, so the next poll joins it: one upstream never holds more than one thread.
 */
export function shareLookups(ask: SystemLookup = systemLookup): LookupFunction {
  const waiting = new Map<string, Answer[]>();

  function join(hostname: string, answer: Answer): void {
    const others = waiting.get(hostname);
    if (others !== undefined) {
      others.push(answer);
      return;
    }
    waiting.set(hostname, [answer]);
    ask(hostname, { all: true }, (error, addresses) => {
      const answers = waiting.get(hostname) ?? [];
      waiting.delete(hostname);
      for (const one of answers) one(error, addresses);
    });
  }

  return (hostname, options, callback) => {
    join(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (options.all === true) callback(error, addresses ?? []);
      else callback(error, first?.address ?? "", first?.family);
    });
  };
}
