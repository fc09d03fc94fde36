import { type Phase, PHASES, type PhaseTimesMs } from "../../kernel/exchange/exchange.ts";
import { SKIPS } from "../../kernel/exchange/outcome.ts";
import {
  ON_THE_WAY,
  type Outcome,
  type ReasonRow,
  REASONS,
  rowOf,
  type Verdict,
} from "../../kernel/exchange/reasons.ts";
import { reasonSentence } from "./reason-sentence.ts";
import type { BudgetStatus, Status, UpstreamFacts, UpstreamSummary } from "./status.ts";
import { hostOf } from "../history/own-network.ts";

/** What is wrong with an upstream, in sentences. */
export type Diagnosis = Verdict & { readonly reason: string };

export function diagnosisOf(upstream: UpstreamFacts, status: Status): Diagnosis {
  const incident = status.incidentsOf(upstream.name).find(({ endedAtMs }) => endedAtMs === undefined);
  const reason = reasonSentence(upstream, budgetsOf(upstream, status), status.nowMs, incident);
  return { ...verdictOn(upstream, status), reason };
}

export function budgetsOf({ budgets }: UpstreamFacts, status: Status): readonly BudgetStatus[] {
  return budgets.map((name) => status.budget(name)).filter((budget) => budget !== undefined);
}

const NOBODY: Verdict = { side: "nobody", because: "" };
const OFFLINE_NOW: Verdict = {
  side: "us",
  because: "No upstream can be reached: our own network is the likely cause.",
};

export function verdictOn(upstream: UpstreamFacts, status: Status): Verdict {
  const { state } = upstream.health;
  switch (state) {
    case "up":
      return NOBODY;
    case "degraded":
      return verdictOnSlow(upstream, status);
    case "throttled":
      return verdictOnRefusal(upstream, status, REASONS.rate);
    case "unauthorized":
      return verdictOnRefusal(upstream, status, REASONS.unauthorized);
    case "down":
      return verdictOnFailure(upstream, status, newestRow(upstream) ?? REASONS.server_error);
    case "unknown":
      return verdictOnUnknown(upstream);
    default:
      return state satisfies never;
  }
}

/** Of the newest poll that was not ok, or that had this outcome. */
function newestRow({ lastPolls }: UpstreamFacts, outcome?: Outcome): ReasonRow | undefined {
  return lastPolls
    .map(({ reason }) => rowOf(reason))
    .findLast((row) => row !== undefined && (outcome === undefined || row.outcome === outcome));
}

/** A failure that came after is not confirmed yet, but newer. */
function verdictOnRefusal(upstream: UpstreamFacts, status: Status, usual: ReasonRow): Verdict {
  const newest = newestRow(upstream);
  if (newest?.outcome === "failed") return verdictOnFailure(upstream, status, newest);
  const { verdict } = newestRow(upstream, usual.outcome) ?? usual;
  if (upstream.health.up !== false) return verdict;
  return { side: verdict.side, because: "It was down before, and no poll was ok since." };
}

function verdictOnFailure(upstream: UpstreamFacts, status: Status, row: ReasonRow): Verdict {
  if (status.offline && (row === REASONS.offline || row.verdict === ON_THE_WAY)) return OFFLINE_NOW;
  if (row.verdict !== ON_THE_WAY) return row.verdict;
  return clearVerdict(upstream) ?? verdictOnUnreachable(upstream, status);
}

/** The verdict is of the whole incident: what it answered before it went silent was theirs, and so is the outage. */
function clearVerdict({ lastPolls }: UpstreamFacts): Verdict | undefined {
  const sinceOk = lastPolls.slice(lastPolls.findLastIndex(({ outcome }) => outcome === "ok") + 1);
  return sinceOk
    .filter(({ outcome }) => outcome === "failed")
    .map(({ reason }) => rowOf(reason)?.verdict)
    .findLast((verdict) => verdict?.side === "them");
}

const ACCEPTED: Verdict = { side: "open", because: "It accepted our connection, so it is more likely them." };

function verdictOnUnreachable(upstream: UpstreamFacts, status: Status): Verdict {
  const { lastPolls } = upstream;
  const first = lastPolls[lastPolls.findLastIndex(({ reason }) => rowOf(reason)?.verdict !== ON_THE_WAY) + 1];
  const other = answeredElsewhere(status, upstream.url, first?.atMs ?? 0);
  if (other !== undefined)
    return { side: "them", because: `"${other}" still answers, so our network works.` };
  const { connect, wait } = lastPolls.findLast(({ outcome }) => outcome === "failed")?.phasesMs ?? {};
  return connect === undefined || wait === undefined ? ON_THE_WAY : ACCEPTED;
}

function verdictOnSlow(upstream: UpstreamFacts, status: Status): Verdict {
  if (areAllOthersSlow(status, upstream.url))
    return { side: "us", because: "Every upstream is slow: our own network or machine is the likely cause." };
  const phase = longestPhase(upstream.lastPolls.findLast((poll) => poll.degraded)?.phasesMs ?? {});
  return phase !== undefined && PHASES.indexOf(phase) >= PHASES.indexOf("wait")
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

/** What the other upstreams tell about one of them. */
type Neighbours = {
  readonly answered: readonly { readonly name: string; readonly host: string; readonly atMs: number }[];
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
    answered: upstreams.flatMap(({ name, url, lastPoll }) =>
      lastPoll?.status === undefined ? [] : [{ name, host: hostOf(url), atMs: lastPoll.atMs }],
    ),
    hosts: hostsOf(upstreams),
    hostsNotSlow: hostsOf(upstreams.filter(({ health }) => health.state !== "degraded")),
  };
  known.set(status, neighbours);
  return neighbours;
}

/** The name of an upstream on another host that has answered since then. An error status is an answer too. */
function answeredElsewhere(status: Status, url: string, sinceMs: number): string | undefined {
  const host = hostOf(url);
  return neighboursIn(status).answered.find((other) => other.host !== host && other.atMs >= sinceMs)?.name;
}

/** There are other hosts than this one, and all of them are slow. */
function areAllOthersSlow(status: Status, url: string): boolean {
  const { hosts, hostsNotSlow } = neighboursIn(status);
  const host = hostOf(url);
  return hasOtherThan(hosts, host) && !hasOtherThan(hostsNotSlow, host);
}

function hostsOf(upstreams: readonly UpstreamSummary[]): ReadonlySet<string> {
  return new Set(upstreams.map(({ url }) => hostOf(url)));
}

function hasOtherThan(hosts: ReadonlySet<string>, host: string): boolean {
  return hosts.size > (hosts.has(host) ? 1 : 0);
}
