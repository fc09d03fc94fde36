import { setImmediate as nextTurn } from "node:timers/promises";
import type { KnownKeys } from "../adapters/secrets/known-keys.ts";
import { openProbe } from "../adapters/undici/probe.ts";
import { openSecret } from "../config/read/secrets.ts";
import type { Config, Upstream } from "../core/config/config.ts";
import { messageOf } from "../core/text/escape.ts";
import type { Log } from "../core/text/log.ts";
import type { Probe } from "../core/poll/ports.ts";
import type { Clock } from "../core/time/clock.ts";
import { USER_AGENT } from "../version.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export type ProbeParts = {
  readonly environment: Environment;
  /** Learns every key that is read. */
  readonly keys: KnownKeys;
  readonly clock: Clock;
  readonly log: Log;
};

export type OpenedProbes =
  | { readonly kind: "opened"; readonly probes: ReadonlyMap<string, Probe> }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export type OpenedInPart = {
  readonly probes: ReadonlyMap<string, Probe>;
  readonly faults: readonly { readonly upstream: string; readonly fault: string }[];
};

/** Opening thousands of probes takes seconds, and polls go on meanwhile: yield to them this often. */
const YIELD_EVERY_MS = 10;

/** A probe for each of these upstreams, or every fault; then the probes that did open are closed again. */
export async function openProbes(upstreams: readonly Upstream[], parts: ProbeParts): Promise<OpenedProbes> {
  const { probes, faults } = await openInPart(upstreams, parts);
  if (faults.length === 0) return { kind: "opened", probes };
  await Promise.all([...probes.values()].map((probe) => probe.close()));
  return { kind: "refused", faults: faults.map(({ fault }) => fault) };
}

/** A probe for each upstream that can have one, and the faults of the others. */
export async function openInPart(upstreams: readonly Upstream[], parts: ProbeParts): Promise<OpenedInPart> {
  const probes = new Map<string, Probe>();
  const faults: { upstream: string; fault: string }[] = [];
  let sinceMs = parts.clock.now();
  for (const upstream of upstreams) {
    const { name } = upstream;
    try {
      probes.set(name, await openUpstream(upstream, parts));
    } catch (error) {
      faults.push({ upstream: name, fault: `upstream "${name}": ${messageOf(error)}` });
    }
    if (parts.clock.now() - sinceMs < YIELD_EVERY_MS) continue;
    await nextTurn();
    sinceMs = parts.clock.now();
  }
  return { probes, faults };
}

/** The fault of every key that cannot be read. */
export async function faultsOfKeys(
  upstreams: readonly Upstream[],
  parts: ProbeParts,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const upstream of upstreams) {
    try {
      await credentialOf(upstream, parts);
    } catch (error) {
      faults.push(`upstream "${upstream.name}": ${messageOf(error)}`);
    }
  }
  return faults;
}

/** The upstreams that are new, or whose config has changed. */
export function upstreamsToOpen(config: Config, running: Config | undefined): readonly Upstream[] {
  const known = new Map(running?.upstreams.map((upstream) => [upstream.name, JSON.stringify(upstream)]));
  return config.upstreams.filter((upstream) => known.get(upstream.name) !== JSON.stringify(upstream));
}

async function openUpstream(upstream: Upstream, parts: ProbeParts): Promise<Probe> {
  return openProbe({
    upstream,
    credential: await credentialOf(upstream, parts),
    userAgent: USER_AGENT,
    clock: parts.clock,
    environment: parts.environment,
  });
}

async function credentialOf(
  { auth, name }: Upstream,
  { environment, keys, log }: ProbeParts,
): Promise<(() => Promise<string>) | undefined> {
  if (auth.kind === "none") return undefined;
  const opened = await openSecret(auth.secret, environment, (message) =>
    log.warn({ upstream: name }, message),
  );
  if (opened.kind === "refused") throw new Error(opened.message);
  return async () => {
    const key = await opened.secret.read();
    keys.learn(name, key);
    return key;
  };
}
