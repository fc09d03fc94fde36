import { setImmediate as nextTurn } from "node:timers/promises";
import type { Config, Upstream } from "../kernel/config/config.ts";
import { needsThread } from "./features/judging.ts";
import { textOf } from "../platform/changes.ts";
import { openTransport, type TransportParts } from "../transport/open.ts";
import { credentialOf, faultsOf } from "../transport/secrets/keys.ts";
import type { Opened } from "../platform/opened.ts";
import type { Probe } from "../kernel/poll/ports.ts";
import { bodyReadingOf } from "./features/reading.ts";
import { type Credentials, signerOf } from "./features/credentials.ts";
import { filledRequest } from "./filled-request.ts";

export type ProbeParts = TransportParts & {
  readonly credentials: readonly Pick<Credentials, "of">[];
};

export type Probes = ReadonlyMap<string, Probe>;

/** Thousands of probes take seconds to open. After this long, polls and requests get a turn. */
const YIELD_EVERY_MS = 10;

/** Probes for as many of these upstreams as possible. Whoever needs all of them closes them where there are faults. */
export async function openProbes(
  upstreams: readonly Upstream[],
  parts: ProbeParts,
): Promise<{ readonly probes: Probes; readonly faults: readonly string[] }> {
  const probes = new Map<string, Probe>();
  const faults: string[] = [];
  let sinceMs = parts.clock.now();
  for (const upstream of upstreams) {
    const opened = await openUpstream(upstream, parts);
    if (opened.kind === "opened") probes.set(upstream.name, opened.what);
    else faults.push(...faultsOf(upstream, opened));
    if (parts.clock.now() - sinceMs < YIELD_EVERY_MS) continue;
    await nextTurn();
    sinceMs = parts.clock.now();
  }
  return { probes, faults };
}

export async function closeProbes(probes: Probes): Promise<void> {
  await Promise.all([...probes.values()].map((probe) => probe.close()));
}

/** Those that are new or changed. */
export function upstreamsToOpen(config: Config, running: Config | undefined): readonly Upstream[] {
  const known = new Map(running?.upstreams.map((upstream) => [upstream.name, textOf(upstream)]));
  return config.upstreams.filter((upstream) => known.get(upstream.name) !== textOf(upstream));
}

async function openUpstream(upstream: Upstream, parts: ProbeParts): Promise<Opened<Probe>> {
  const { url, payload, secrets } = filledRequest(upstream, parts.environment);
  for (const [index, secret] of secrets.entries())
    parts.keys.learn(`${upstream.name} request ${index}`, secret);
  const fetched = await fetchedFor(upstream, parts);
  if (fetched.kind === "refused") return fetched;
  const credential = fetched.what === undefined ? await credentialOf(upstream, parts) : undefined;
  if (credential?.kind === "refused") return credential;
  return openTransport(parts, {
    fields: { upstream: upstream.name },
    upstream: { ...upstream, url, payload, reading: bodyReadingOf(upstream), sign: signerOf(upstream) },
    secrets,
    credential: fetched.what?.read ?? credential?.what,
    gate: fetched.what?.gate,
    memory: parts.memory,
    handsOver: needsThread(upstream),
  });
}

async function fetchedFor(upstream: Upstream, { credentials }: ProbeParts): ReturnType<Credentials["of"]> {
  for (const each of credentials) {
    const opened = await each.of(upstream);
    if (opened.kind === "refused" || opened.what !== undefined) return opened;
  }
  return { kind: "opened", what: undefined };
}
