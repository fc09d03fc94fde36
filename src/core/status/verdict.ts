import { type Phase, PHASES, type PhaseTimesMs } from "../exchange/exchange.ts";
import type { FailureReason, SkipCause } from "../exchange/outcome.ts";
import { isTrouble } from "./recent-trouble.ts";
import type { BudgetStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";
import { hostOf, snapshotIndex } from "./snapshot-index.ts";
import { reasonSentence } from "./reason-sentence.ts";

/** Who has to act. `open`: we cannot tell. `nobody`: nothing is wrong. */
export const SIDES = ["nobody", "them", "us", "our_key", "limit", "open"] as const;
export type Side = (typeof SIDES)[number];

export type Verdict = {
  readonly side: Side;
  /** The evidence: a sentence, or empty. */
  readonly because: string;
};

/** What is wrong with an upstream, in sentences. */
export type Diagnosis = Verdict & { readonly reason: string };

export function diagnosisOf(upstream: UpstreamStatus, snapshot: StatusSnapshot): Diagnosis {
  const reason = reasonSentence(upstream, budgetsOf(upstream, snapshot), snapshot.nowMs);
  return { ...verdictOn(upstream, snapshot), reason };
}

export function budgetsOf({ budgets }: UpstreamStatus, snapshot: StatusSnapshot): readonly BudgetStatus[] {
  const index = snapshotIndex(snapshot);
  return budgets.map((budget) => index.budget(budget)).filter((budget) => budget !== undefined);
}

const NOBODY: Verdict = { side: "nobody", because: "" };

export function verdictOn(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  const { state } = upstream.health;
  switch (state) {
    case "up":
      return NOBODY;
    case "degraded":
      return verdictOnSlow(upstream, snapshot);
    case "throttled":
      return verdictOnThrottled(upstream);
    case "unauthorized":
      return verdictOnUnauthorized(upstream);
    case "down":
      return verdictOnDown(upstream, snapshot);
    case "unknown":
      return verdictOnUnknown(upstream);
    default:
      return state satisfies never;
  }
}

function verdictOnUnauthorized({ lastPolls }: UpstreamStatus): Verdict {
  const reason = lastPolls.findLast(isTrouble)?.reason;
  if (reason === "forbidden") {
    return {
      side: "us",
      because:
        "The upstream answers, but does not allow this: the key lacks the right, or our country or address is not served.",
    };
  }
  const because =
    reason === "auth"
      ? "The token endpoint answers, but rejects our client. Anything else that uses this client is probably rejected too."
      : "The upstream answers, but rejects our key. Anything else that uses this key is probably rejected too.";
  return { side: "our_key", because };
}

function verdictOnDown(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  const reason = upstream.lastPolls.findLast(isTrouble)?.reason ?? "";
  switch (reason) {
    case "dns":
    case "connect":
    case "timeout":
      return verdictOnUnreachable(upstream, snapshot);
    case "tls":
      return { side: "open", because: "Either its certificate or our TLS config is wrong: see the detail." };
    case "blocked":
      return {
        side: "open",
        because:
          "A firewall or bot protection blocks us: nothing tells whether the API behind it works, and others may be served.",
      };
    case "redirect":
    case "client_error":
    case "unexpected_status":
    case "assertion":
      return {
        side: "open",
        because: "The upstream answers, but not as expected: its API has changed, or our config is wrong.",
      };
    case "internal":
      return { side: "us", because: "This says nothing about the upstream." };
    default:
      return { side: "them", because: "We reach the upstream, but its answers are broken." };
  }
}

/** The reasons of what `verdictOnUnreachable` judges. */
const UNREACHABLE: ReadonlySet<string> = new Set<FailureReason>(["dns", "connect", "timeout"]);

function verdictOnUnreachable(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  if (snapshot.offline)
    return { side: "us", because: "No upstream can be reached: our own network is the likely cause." };
  if (upstream.lastPoll?.offline === true)
    return { side: "us", because: "Our own network was down then, so this says nothing about the upstream." };
  const { lastPolls } = upstream;
  const first = lastPolls[lastPolls.findLastIndex(({ reason }) => !UNREACHABLE.has(reason)) + 1];
  const other = snapshotIndex(snapshot).answeredElsewhere(hostOf(upstream.url), first?.atMs ?? 0);
  return other === undefined
    ? {
        side: "open",
        because:
          "The upstream or the network is down: no other upstream has answered since, so we cannot tell which.",
      }
    : { side: "them", because: `${other} still answers, so our network works.` };
}

function verdictOnSlow(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  if (snapshotIndex(snapshot).areAllOthersSlow(hostOf(upstream.url)))
    return { side: "us", because: "Every upstream is slow: our own network or machine is the likely cause." };
  const phase = longestPhase(upstream.lastPolls.findLast((poll) => poll.degraded)?.phasesMs ?? {});
  return phase === "wait" || phase === "transfer"
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

function verdictOnThrottled({ lastPolls }: UpstreamStatus): Verdict {
  const because =
    lastPolls.findLast(isTrouble)?.reason === "quota"
      ? "The quota or credit of our key is used up. Production is rejected too if it shares the account."
      : "The upstream answers, but asks us to slow down. This is not an outage.";
  return { side: "limit", because };
}

const SIDE_OF_SKIPS: Readonly<Record<SkipCause, Side>> = {
  budget: "us",
  backoff: "limit",
  yield: "limit",
  quota: "limit",
  overlap: "us",
  missed: "us",
  ledger: "us",
  shutdown: "us",
};

function verdictOnUnknown({ skippedSincePoll, lastPoll, counts }: UpstreamStatus): Verdict {
  const [cause] = skippedSincePoll.toSorted((a, b) => b.count - a.count).map(({ cause }) => cause);
  const because = "Until polls succeed again, the state of the upstream is unknown.";
  if (cause !== undefined) return { side: SIDE_OF_SKIPS[cause], because };
  const reason = counts.polls > 0 ? lastPoll?.reason : undefined;
  if (reason === "auth")
    return { side: "open", because: "Its token endpoint gives us no token, so the upstream was not asked." };
  return reason === "internal" ? { side: "us", because } : NOBODY;
}
