/** What the JSON API answers: cut from the same snapshot that the pages show. */

import { budgetOf, diagnosisOf, type Diagnosis } from "./verdict.ts";
import type { FleetStatus } from "../fleet/fleet-status.ts";
import type { BudgetStatus, Incident, PollStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";

/** An upstream in a list: its last poll in place of its history. */
type UpstreamSummary = Omit<UpstreamStatus, "lastPolls" | "lastFailures"> & {
  readonly diagnosis: Diagnosis;
  readonly lastPoll: PollStatus | undefined;
};

export type ListAnswer = Omit<StatusSnapshot, "upstreams" | "incidents"> & {
  readonly upstreams: readonly UpstreamSummary[];
  readonly incidents: readonly Incident[];
};

export type UpstreamAnswer = {
  readonly nowMs: number;
  readonly upstream: UpstreamStatus & { readonly diagnosis: Diagnosis };
  readonly budget: BudgetStatus | undefined;
  readonly incidents: readonly Incident[];
};

export type IncidentsAnswer = Pick<StatusSnapshot, "nowMs" | "incidents">;

export function listAnswer(snapshot: StatusSnapshot): ListAnswer {
  return { ...snapshot, upstreams: snapshot.upstreams.map((upstream) => summaryOf(upstream, snapshot)) };
}

/** Undefined for a name that nobody has. */
export function upstreamAnswer(snapshot: StatusSnapshot, name: string): UpstreamAnswer | undefined {
  const upstream = snapshot.upstreams.find((candidate) => candidate.name === name);
  if (upstream === undefined) return undefined;
  return {
    nowMs: snapshot.nowMs,
    upstream: {
      ...factsOf(upstream),
      lastPolls: upstream.lastPolls,
      lastFailures: upstream.lastFailures,
      diagnosis: diagnosisOf(upstream, snapshot),
    },
    budget: budgetOf(upstream, snapshot),
    incidents: incidentsOf(snapshot, name),
  };
}

export type MissingUpstreamAnswer = {
  readonly error: string;
  /** Which replica polls it, and where that is. */
  readonly holder?: { readonly name: string; readonly url: string };
};

/** A name that nobody has; or that another replica polls. */
export function missingUpstreamAnswer(name: string, fleet: FleetStatus | undefined): MissingUpstreamAnswer {
  const foreign = fleet?.upstreams.find((upstream) => upstream.name === name);
  if (foreign === undefined) return { error: `cannot find an upstream named "${name}"` };
  const { holder } = foreign;
  if (holder === undefined) return { error: `cannot tell of "${name}": no replica polls it now` };
  const url = fleet?.replicas.find((replica) => replica.name === holder)?.url ?? "";
  return {
    error: `cannot tell of "${name}" here: replica "${holder}" polls it`,
    holder: { name: holder, url },
  };
}

export function incidentsAnswer({ nowMs, incidents }: StatusSnapshot): IncidentsAnswer {
  return { nowMs, incidents };
}

export function incidentsOf({ incidents }: StatusSnapshot, upstream: string): readonly Incident[] {
  return incidents.filter((incident) => incident.upstream === upstream);
}

function summaryOf(upstream: UpstreamStatus, snapshot: StatusSnapshot): UpstreamSummary {
  return {
    ...factsOf(upstream),
    diagnosis: diagnosisOf(upstream, snapshot),
    lastPoll: upstream.lastPolls.at(-1),
  };
}

/** Written out, as they may be worked out where they are read. */
function factsOf(upstream: UpstreamStatus): Omit<UpstreamStatus, "lastPolls" | "lastFailures"> {
  return {
    name: upstream.name,
    url: upstream.url,
    budget: upstream.budget,
    labels: upstream.labels,
    schedule: upstream.schedule,
    objective: upstream.objective,
    degradedAboveMs: upstream.degradedAboveMs,
    health: upstream.health,
    pausedUntilMs: upstream.pausedUntilMs,
    nextSlotAtMs: upstream.nextSlotAtMs,
    certificateExpiresAtMs: upstream.certificateExpiresAtMs,
    counts: upstream.counts,
    skips: upstream.skips,
    skippedSincePoll: upstream.skippedSincePoll,
    latency: upstream.latency,
    availability: upstream.availability,
  };
}
