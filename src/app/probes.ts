import { setImmediate as nextTurn } from "node:timers/promises";
import type { KnownKeys } from "../adapters/secrets/known-keys.ts";
import type { NameResolver } from "../adapters/dns/name-resolver.ts";
import { openProbe } from "../adapters/undici/probe.ts";
import { type Environment, interpolate } from "../config/read/interpolate.ts";
import { openSecret } from "../config/read/secrets.ts";
import { joinUrl } from "../config/keys/upstream-url.ts";
import type { Config, SecretSource, Upstream } from "../core/config/config.ts";
import { messageOf } from "../core/text/escape.ts";
import type { Log } from "../core/text/log.ts";
import type { Probe } from "../core/poll/ports.ts";
import type { Clock } from "../core/time/clock.ts";
import type { UpstreamToken } from "../engine/poll/token-source.ts";
import { USER_AGENT } from "../version.ts";

export type KeyParts = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Learns every key that is read. */
  readonly keys: KnownKeys;
  readonly log: Log;
};

export type TransportParts = KeyParts & {
  readonly clock: Clock;
  /** One for the whole process. */
  readonly names: NameResolver;
};

export type ProbeParts = TransportParts & {
  readonly tokens: { tokenOf(upstream: Upstream): Promise<UpstreamToken | undefined> };
};

export type OpenedProbes =
  | { readonly kind: "opened"; readonly probes: ReadonlyMap<string, Probe> }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export type OpenedInPart = {
  readonly probes: ReadonlyMap<string, Probe>;
  readonly faults: readonly { readonly upstream: string; readonly fault: string }[];
};

/** Thousands of probes take seconds to open. After this long, polls and requests get a turn. */
const YIELD_EVERY_MS = 10;

/** A probe for each of these upstreams; or all faults, and every probe closed again. */
export async function openProbes(upstreams: readonly Upstream[], parts: ProbeParts): Promise<OpenedProbes> {
  const { probes, faults } = await openInPart(upstreams, parts);
  if (faults.length === 0) return { kind: "opened", probes };
  await Promise.all([...probes.values()].map((probe) => probe.close()));
  return { kind: "refused", faults: faults.map(({ fault }) => fault) };
}

/** Probes for as many of these upstreams as possible. */
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
  parts: KeyParts,
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

/** Those that are new or changed. */
export function upstreamsToOpen(config: Config, running: Config | undefined): readonly Upstream[] {
  const known = new Map(running?.upstreams.map((upstream) => [upstream.name, textOf(upstream)]));
  return config.upstreams.filter((upstream) => known.get(upstream.name) !== textOf(upstream));
}

/** Another for another upstream. A JSON Schema is told by its digest: a thousand upstreams may share a large one. */
function textOf({ expect, ...upstream }: Upstream): string {
  const body = expect.body?.map(({ path, check }) => {
    return check.kind === "json_schema" ? [path, check.file, check.read?.digest] : [path, check];
  });
  return JSON.stringify([upstream, { ...expect, body }]);
}

/** The URL to request, with the variables of its path filled in: these are secret. */
export function filledUrl(
  { url, pathTemplate, pathVariables = [] }: Pick<Upstream, "url" | "pathTemplate" | "pathVariables">,
  environment: Environment,
): { readonly url: string; readonly secrets: readonly string[] } {
  if (pathTemplate === undefined) return { url, secrets: [] };
  const path = interpolate(pathTemplate.path, environment);
  if (path.kind !== "text") throw new Error("cannot fill in the path: one of its variables is not set");
  return {
    url: joinUrl(pathTemplate.base, path.text),
    secrets: pathVariables.map((name) => environment[name] ?? ""),
  };
}

async function openUpstream(upstream: Upstream, parts: ProbeParts): Promise<Probe> {
  const { url, secrets } = filledUrl(upstream, parts.environment);
  for (const [index, secret] of secrets.entries()) parts.keys.learn(`${upstream.name} path ${index}`, secret);
  const token = await parts.tokens.tokenOf(upstream);
  return openProbe({
    upstream: { ...upstream, url },
    secrets,
    credential: token === undefined ? await credentialOf(upstream, parts) : token.read,
    token,
    userAgent: USER_AGENT,
    clock: parts.clock,
    environment: parts.environment,
    names: parts.names,
    onWarning: (message) => parts.log.warn({ upstream: upstream.name }, message),
  });
}

async function credentialOf(
  { auth, name }: Upstream,
  parts: KeyParts,
): Promise<OpenedKey["read"] | undefined> {
  if (auth.kind === "none") return undefined;
  const opened = await openKey(auth.secret, name, { upstream: name }, parts);
  if (opened.kind === "refused") throw new Error(opened.message);
  return opened.read;
}

type OpenedKey = { readonly kind: "opened"; readonly read: () => string | Promise<string> };

/** `fields` are logged with every warning about it. */
export async function openKey(
  source: SecretSource,
  owner: string,
  fields: object,
  { environment, keys, log }: KeyParts,
): Promise<OpenedKey | { readonly kind: "refused"; readonly message: string }> {
  const opened = await openSecret(source, environment, (message) => log.warn(fields, message));
  if (opened.kind === "refused") return opened;
  const learned = (key: string): string => {
    keys.learn(owner, key);
    return key;
  };
  const read = (): string | Promise<string> => {
    const key = opened.secret.read();
    return typeof key === "string" ? learned(key) : key.then(learned);
  };
  return { kind: "opened", read };
}
