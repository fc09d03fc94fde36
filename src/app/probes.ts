import { setImmediate as nextTurn } from "node:timers/promises";
import type { KnownKeys } from "../transport/secrets/known-keys.ts";
import type { NameResolver } from "../transport/dns/name-resolver.ts";
import type { BodyMemory } from "../transport/body-memory.ts";
import { openProbe, type ProbeOptions } from "../transport/probe.ts";
import { openSecret } from "../config/read/secrets.ts";
import { type Config, type SecretSource, sourcesOf, type Upstream } from "../kernel/config/config.ts";
import { needsThread } from "./features/judging.ts";
import type { Opened, Refused } from "../platform/opened.ts";
import type { Log } from "../kernel/text/log.ts";
import type { Probe } from "../kernel/poll/ports.ts";
import type { Clock } from "../kernel/time/clock.ts";
import type { UpstreamToken } from "../features/auth/token-source.ts";
import { bodyReadingOf } from "./features/reading.ts";
import { filledRequest } from "./filled-request.ts";
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
  /** Shared by large bodies, if this process has more to do than to poll once. */
  readonly memory?: BodyMemory;
};

export type ProbeParts = TransportParts & {
  readonly tokens: { tokenOf(upstream: Upstream): Promise<Opened<UpstreamToken | undefined>> };
};

export type Probes = ReadonlyMap<string, Probe>;

export type FaultOf = { readonly upstream: string; readonly fault: string };

/** Thousands of probes take seconds to open. After this long, polls and requests get a turn. */
const YIELD_EVERY_MS = 10;

/** Probes for as many of these upstreams as possible. Whoever needs all of them closes them where there are faults. */
export async function openProbes(
  upstreams: readonly Upstream[],
  parts: ProbeParts,
): Promise<{ readonly probes: Probes; readonly faults: readonly FaultOf[] }> {
  const probes = new Map<string, Probe>();
  const faults: FaultOf[] = [];
  let sinceMs = parts.clock.now();
  for (const upstream of upstreams) {
    const { name } = upstream;
    const opened = await openUpstream(upstream, parts);
    if (opened.kind === "opened") probes.set(name, opened.what);
    else faults.push(...faultsOf(upstream, opened).map((fault) => ({ upstream: name, fault })));
    if (parts.clock.now() - sinceMs < YIELD_EVERY_MS) continue;
    await nextTurn();
    sinceMs = parts.clock.now();
  }
  return { probes, faults };
}

export async function closeProbes(probes: Probes): Promise<void> {
  await Promise.all([...probes.values()].map((probe) => probe.close()));
}

/** The fault of every key that cannot be read. */
export async function faultsOfKeys(
  upstreams: readonly Upstream[],
  parts: KeyParts,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const upstream of upstreams) {
    const credential = await credentialOf(upstream, parts);
    if (credential.kind === "refused") faults.push(...faultsOf(upstream, credential));
  }
  return faults;
}

function faultsOf({ name }: Upstream, { faults }: Refused): readonly string[] {
  return faults.map((fault) => `upstream "${name}": ${fault}`);
}

/** Those that are new or changed. */
export function upstreamsToOpen(config: Config, running: Config | undefined): readonly Upstream[] {
  const known = new Map(running?.upstreams.map((upstream) => [upstream.name, textOf(upstream)]));
  return config.upstreams.filter((upstream) => known.get(upstream.name) !== textOf(upstream));
}

/** Another for another upstream. A file is told by its digest: a thousand upstreams may share a large one. */
export function textOf(upstream: Upstream): string {
  return JSON.stringify(upstream, (_, value: unknown) => (value instanceof Uint8Array ? undefined : value));
}

async function openUpstream(upstream: Upstream, parts: ProbeParts): Promise<Opened<Probe>> {
  const filled = filledRequest(upstream, parts.environment);
  if (filled.kind === "refused") return filled;
  const { url, payload, secrets } = filled.what;
  for (const [index, secret] of secrets.entries())
    parts.keys.learn(`${upstream.name} request ${index}`, secret);
  const token = await parts.tokens.tokenOf(upstream);
  if (token.kind === "refused") return token;
  const credential = token.what === undefined ? await credentialOf(upstream, parts) : undefined;
  if (credential?.kind === "refused") return credential;
  return openTransport(parts, {
    fields: { upstream: upstream.name },
    upstream: { ...upstream, url, payload, reading: bodyReadingOf(upstream) },
    secrets,
    credential: token.what?.read ?? credential?.what,
    gate: token.what?.gate,
    memory: parts.memory,
    handsOver: needsThread(upstream),
  });
}

type OwnOptions = Pick<ProbeOptions, "upstream" | "secrets" | "credential" | "gate" | "memory" | "handsOver">;

/** What asks upstreams, token endpoints and receivers. `fields` are logged with every warning about it. */
export function openTransport(
  { clock, environment, names, log }: TransportParts,
  { fields, ...own }: OwnOptions & { readonly fields: object },
): Promise<Opened<Probe>> {
  const onWarning = (message: string): void => log.warn(fields, message);
  return openProbe({ ...own, userAgent: USER_AGENT, clock, environment, names, onWarning });
}

async function credentialOf({ auth, name }: Upstream, parts: KeyParts): Promise<Opened<ReadKey | undefined>> {
  const opened: ReadKey[] = [];
  for (const [index, source] of sourcesOf(auth).entries()) {
    const owner = index === 0 ? name : `${name} key ${index}`;
    const key = await openKey(source, owner, { upstream: name }, parts);
    if (key.kind === "refused") return key;
    opened.push(key.what);
  }
  const [only] = opened;
  // No key has a line break in it.
  const readAll = async (): Promise<string> => {
    const keys = await Promise.all(opened.map(async (read) => read()));
    return keys.join("\n");
  };
  return { kind: "opened", what: opened.length > 1 ? readAll : only };
}

type ReadKey = () => string | Promise<string>;

/** `fields` are logged with every warning about it. */
export async function openKey(
  source: SecretSource,
  owner: string,
  fields: object,
  { environment, keys, log }: KeyParts,
): Promise<Opened<ReadKey>> {
  const opened = await openSecret(source, environment, (message) => log.warn(fields, message));
  if (opened.kind === "refused") return opened;
  const learned = (key: string): string => {
    keys.learn(owner, key);
    return key;
  };
  const read = (): string | Promise<string> => {
    const key = opened.what.read();
    return typeof key === "string" ? learned(key) : key.then(learned);
  };
  return { kind: "opened", what: read };
}
