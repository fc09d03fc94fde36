import { type Phase, PHASES, type PhaseTimesMs } from "../../kernel/exchange/exchange.ts";
import { SKIPS } from "../../kernel/exchange/outcome.ts";
import {
  BROKEN,
  ON_THE_WAY,
  type Outcome,
  type ReasonRow,
  REASONS,
  rowOf,
  type Verdict,
} from "../../kernel/exchange/reasons.ts";
import { reasonSentence } from "./reason-sentence.ts";
import type { BudgetStatus, Status, UpstreamFacts, UpstreamSummary } from "./status.ts";
import { type Incident, OUTCOME_OF, reasonsOf } from "../history/incidents.ts";
import { hostOf } from "../history/own-network.ts";
import { MINUTE_MS } from "../../kernel/time/duration.ts";

/** What is wrong with an upstream, in sentences. */
export type Diagnosis = Verdict & { readonly reason: string };

export function diagnosisOf(upstream: UpstreamFacts, status: Status): Diagnosis {
  const incident = status.incidentsOf(upstream.name).find(({ endedAtMs }) => endedAtMs === undefined);
  const usedUp = (budget: string): string | undefined => status.usedUp(upstream.name, budget);
  const reason = reasonSentence(upstream, budgetsOf(upstream, status), status.nowMs, incident, usedUp);
  return { ...verdictOn(upstream, status, incident), reason };
}

export function budgetsOf({ budgets }: UpstreamFacts, status: Status): readonly BudgetStatus[] {
  return budgets.map((name) => status.budget(name)).filter((budget) => budget !== undefined);
}

const NOBODY: Verdict = { side: "nobody", because: "" };
const OFFLINE_NOW: Verdict = {
  side: "us",
  because: "No upstream can be reached: our own network is the likely cause.",
};

/** `incident`: the one that is open. */
export function verdictOn(upstream: UpstreamFacts, status: Status, incident?: Incident): Verdict {
  const { state } = upstream.health;
  switch (state) {
    case "up":
      return NOBODY;
    case "degraded":
      return verdictOnSlow(upstream, status);
    case "throttled":
      return verdictOnRefusal(upstream, status, incident, REASONS.rate);
    case "unauthorized":
      return verdictOnRefusal(upstream, status, incident, REASONS.unauthorized);
    case "down":
      return verdictOnFailure(upstream, status, incident);
    case "unknown":
      return verdictOnUnknown(upstream);
    default:
      return state satisfies never;
  }
}

/** A failure that came after is not confirmed yet, but newer. */
function verdictOnRefusal(
  upstream: UpstreamFacts,
  status: Status,
  incident: Incident | undefined,
  usual: ReasonRow,
): Verdict {
  if (newestRow(upstream)?.outcome === "failed") return verdictOnFailure(upstream, status, incident);
  const verdict = (incident && verdictOnIncident(incident, usual.outcome)) ?? usual.verdict;
  if (upstream.health.up !== false) return verdict;
  return { side: verdict.side, because: "It was down before, and no poll was ok since." };
}

function verdictOnFailure(upstream: UpstreamFacts, status: Status, incident: Incident | undefined): Verdict {
  const newest = newestRow(upstream);
  if (status.offline && (newest === REASONS.offline || newest?.verdict === ON_THE_WAY)) return OFFLINE_NOW;
  const verdict =
    (incident && verdictOnIncident(incident, "failed")) ?? (newest ?? REASONS.server_error).verdict;
  return verdict === ON_THE_WAY && hasAccepted(upstream) ? ACCEPTED : verdict;
}

/** Of the newest poll that was not ok. */
function newestRow({ lastPolls }: UpstreamFacts): ReasonRow | undefined {
  return rowOf(lastPolls.findLast(({ reason }) => rowOf(reason) !== undefined)?.reason ?? "");
}

/**
 * Of all its polls with the outcome that led to its state: of most of them, as one that was different changes nothing. If
 * it was reached and its answers were broken, its silence before and after is the same outage. Undefined if there is none.
 */
export function verdictOnIncident(
  incident: Pick<Incident, "state" | "reason" | "polls" | "reasons" | "answeredBy">,
  outcome: Outcome | undefined = OUTCOME_OF[incident.state],
): Verdict | undefined {
  const counts = new Map<Verdict, number>();
  for (const [reason, polls] of Object.entries(reasonsOf(incident))) {
    const row = rowOf(reason);
    if (row !== undefined && row.outcome === outcome)
      counts.set(row.verdict, (counts.get(row.verdict) ?? 0) + polls);
  }
  const broken = counts.get(BROKEN);
  if (broken !== undefined) {
    counts.set(BROKEN, broken + (counts.get(ON_THE_WAY) ?? 0));
    counts.delete(ON_THE_WAY);
  }
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one).map(([verdict]) => verdict);
  const { answeredBy } = incident;
  return most === ON_THE_WAY && answeredBy !== undefined
    ? { side: "them", because: `"${answeredBy}" has answered since, so our network works.` }
    : most;
}

const ACCEPTED: Verdict = { side: "open", because: "It accepted our connection, so it is more likely them." };

function hasAccepted({ lastPolls }: UpstreamFacts): boolean {
  const { connect, wait } = lastPolls.findLast(({ outcome }) => outcome === "failed")?.phasesMs ?? {};
  return connect !== undefined && wait !== undefined;
}

function verdictOnSlow(upstream: UpstreamFacts, status: Status): Verdict {
  const phase = longestPhase(upstream.lastPolls.findLast((poll) => poll.degraded)?.phasesMs ?? {});
  const isAfterSending = phase !== undefined && PHASES.indexOf(phase) >= PHASES.indexOf("wait");
  if (areAllOthersSlow(status, upstream.url))
    return isAfterSending
      ? {
          side: "open",
          because:
            "Every upstream is slow, though it is reached quickly: several of them, or our own machine.",
        }
      : { side: "us", because: "Every upstream is slow: our own network or machine is the likely cause." };
  return isAfterSending
    ? { side: "them", because: "Most of the time passes after our request is sent." }
    : {
        side: "open",
        because: "Most of the time passes before our request is sent: their edge or the network is slow.",
      };
}

function longestPhase(phasesMs: PhaseTimesMs): Phase | undefined {
  return PHASES.toSorted((a, b) => (phasesMs[b] ?? 0) - (phasesMs[a] ?? 0)).find(
    (phase) => phasesMs[phase] !== undefined,
  );
}

function verdictOnUnknown({ skippedSincePoll, lastPoll, counts }: UpstreamFacts): Verdict {
  const [cause] = skippedSincePoll.toSorted((a, b) => b.count - a.count).map(({ cause }) => cause);
  const because = "Until polls succeed again, the state of the upstream is unknown.";
  if (cause !== undefined) return { side: SKIPS[cause].side, because };
  if (counts.polls === 0) return NOBODY;
  if (lastPoll?.reason === "auth")
    return { side: "open", because: "Its token endpoint gives us no token, so the upstream was not asked." };
  return lastPoll?.outcome === "ours" ? { side: "us", because } : NOBODY;
}

const SLOW_NOW_MS = 5 * MINUTE_MS;

/** What the other upstreams tell about one of them. */
type Neighbours = {
  readonly hosts: ReadonlySet<string>;
  readonly hostsNotSlow: ReadonlySet<string>;
};

/** Computed once for each status: when thousands are down, thousands are judged. */
const known = new WeakMap<Status, Neighbours>();

function neighboursIn(status: Status): Neighbours {
  const before = known.get(status);
  if (before !== undefined) return before;
  const upstreams = [...status.upstreams];
  const neighbours = {
    hosts: hostsOf(upstreams),
    hostsNotSlow: hostsOf(upstreams.filter((upstream) => !isSlow(upstream, status.nowMs))),
  };
  known.set(status, neighbours);
  return neighbours;
}

/** There are other hosts than this one, and all of them are slow. */
function areAllOthersSlow(status: Status, url: string): boolean {
  const { hosts, hostsNotSlow } = neighboursIn(status);
  const host = hostOf(url);
  return hasOtherThan(hosts, host) && !hasOtherThan(hostsNotSlow, host);
}

/** By its newest poll: a slow answer of long ago tells nothing of now. */
function isSlow({ lastPoll }: UpstreamSummary, nowMs: number): boolean {
  return lastPoll?.degraded === true && nowMs - lastPoll.atMs < SLOW_NOW_MS;
}

function hostsOf(upstreams: readonly UpstreamSummary[]): ReadonlySet<string> {
  return new Set(upstreams.map(({ url }) => hostOf(url)));
}

function hasOtherThan(hosts: ReadonlySet<string>, host: string): boolean {
  return hosts.size > (hosts.has(host) ? 1 : 0);
}
