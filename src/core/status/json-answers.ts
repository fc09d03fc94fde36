/** The answers of the JSON API, made from the same snapshot that the pages show. */

import { budgetsOf, diagnosisOf, type Diagnosis } from "./verdict.ts";
import type { FleetStatus } from "../fleet/fleet-status.ts";
import type { BudgetStatus, Incident, PollStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";

type UpstreamFacts = Omit<
  UpstreamStatus,
  "meanGapMs" | "lastPoll" | "lastPolls" | "lastFailures" | "valueHistories"
> & {
  readonly diagnosis: Diagnosis;
};

/** An upstream in the list has its last poll in place of its history. It is read when it is written. */
export type ListAnswer = Omit<StatusSnapshot, "upstreams"> & {
  readonly upstreams: readonly {
    toJSON(): UpstreamFacts & { readonly lastPoll: PollStatus | undefined };
  }[];
};

export function listAnswer(snapshot: StatusSnapshot): ListAnswer {
  const upstreams = snapshot.upstreams.map((upstream) => ({
    toJSON: () => ({ ...factsOf(upstream, snapshot), lastPoll: upstream.lastPoll }),
  }));
  return { ...snapshot, upstreams };
}

export type UpstreamAnswer = {
  readonly nowMs: number;
  readonly upstream: Omit<UpstreamStatus, "meanGapMs" | "lastPoll"> & { readonly diagnosis: Diagnosis };
  readonly budgets: readonly BudgetStatus[];
  readonly incidents: readonly Incident[];
};

/** Undefined if no upstream has this name. */
export function upstreamAnswer(snapshot: StatusSnapshot, name: string): UpstreamAnswer | undefined {
  const upstream = snapshot.upstreams.find((candidate) => candidate.name === name);
  if (upstream === undefined) return undefined;
  const { lastPolls, lastFailures, valueHistories } = upstream;
  return {
    nowMs: snapshot.nowMs,
    upstream: {
      ...factsOf(upstream, snapshot),
      lastPolls,
      lastFailures,
      ...(valueHistories && { valueHistories }),
    },
    budgets: budgetsOf(upstream, snapshot),
    incidents: incidentsOf(snapshot, name),
  };
}

export type MissingUpstreamAnswer = {
  readonly error: string;
  /** The replica that polls it. */
  readonly holder?: { readonly name: string; readonly url: string };
};

/** For a name that is not in the config, or that another replica polls. */
export function missingUpstreamAnswer(name: string, fleet: FleetStatus | undefined): MissingUpstreamAnswer {
  const remote = fleet?.upstreams.find((upstream) => upstream.name === name);
  if (remote === undefined) return { error: `cannot find an upstream named "${name}"` };
  const { holder } = remote;
  if (holder === undefined) return { error: `cannot show "${name}": no replica polls it now` };
  const url = fleet?.replicas.find((replica) => replica.name === holder)?.url ?? "";
  return { error: `cannot show "${name}" here: replica "${holder}" polls it`, holder: { name: holder, url } };
}

export function incidentsOf({ incidents }: StatusSnapshot, upstream: string): readonly Incident[] {
  return incidents.filter((incident) => incident.upstream === upstream);
}

/** Listed one by one: the fields may be getters of a class, which a spread would lose. */
function factsOf(upstream: UpstreamStatus, snapshot: StatusSnapshot): UpstreamFacts {
  const { values } = upstream;
  return {
    name: upstream.name,
    url: upstream.url,
    budgets: upstream.budgets,
    labels: upstream.labels,
    schedule: upstream.schedule,
    objective: upstream.objective,
    degradedAboveMs: upstream.degradedAboveMs,
    health: upstream.health,
    pausedUntilMs: upstream.pausedUntilMs,
    nextSlotAtMs: upstream.nextSlotAtMs,
    certificateExpiresAtMs: upstream.certificateExpiresAtMs,
    announcement: upstream.announcement,
    ...(values && { values }),
    counts: upstream.counts,
    skips: upstream.skips,
    skippedSincePoll: upstream.skippedSincePoll,
    latency: upstream.latency,
    availability: upstream.availability,
    diagnosis: diagnosisOf(upstream, snapshot),
  };
}
