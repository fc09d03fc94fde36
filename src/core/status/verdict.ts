import { type Phase, PHASES, type PhaseTimesMs } from "../exchange/exchange.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import { isTrouble } from "./recent-trouble.ts";
import type { BudgetStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";
import { hostOf, surroundingsIn } from "./surroundings.ts";
import { reasonSentence } from "./reason-sentence.ts";

/** Whose trouble it is. `open`: what was seen fits more than one of them. `nobody`: there is none. */
export const SIDES = ["nobody", "them", "us", "our_key", "limit", "open"] as const;
export type Side = (typeof SIDES)[number];

export type Verdict = {
  readonly side: Side;
  /** What speaks for it: a sentence, or nothing. */
  readonly because: string;
};

const NOBODY: Verdict = { side: "nobody", because: "" };

export function verdictOn(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  const { state } = upstream.health;
  switch (state) {
    case "up":
      return NOBODY;
    case "degraded":
      return slowness(upstream, snapshot);
    case "throttled":
      return throttling(upstream);
    case "unauthorized":
      return {
        side: "our_key",
        because: "They answer, but refuse our key. Whatever else uses this key is likely to be refused, too.",
      };
    case "down":
      return failure(upstream, snapshot);
    case "unknown":
      return blindness(upstream);
    default:
      return state satisfies never;
  }
}

function failure(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  const reason = upstream.lastPolls.findLast(isTrouble)?.reason ?? "";
  switch (reason) {
    case "dns":
    case "connect":
    case "timeout":
      return failureOnTheWay(upstream, snapshot);
    case "tls":
      return { side: "open", because: "Their certificate, or what we trust and expect: the detail tells." };
    case "redirect":
    case "client_error":
    case "unexpected_status":
      return {
        side: "open",
        because: "They answer, but not to this request: their API has changed, or our config is wrong.",
      };
    case "internal":
      return { side: "us", because: "Pacewatch itself is at fault; nothing is said about them." };
    default:
      return { side: "them", because: "We reach them, and what they answer is broken." };
  }
}

function failureOnTheWay(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  const surroundings = surroundingsIn(snapshot);
  if (surroundings.isOffline)
    return {
      side: "us",
      because:
        "Every upstream fails before it answers: more likely our own network than all of them at once.",
    };
  const lastOkMs = upstream.lastPolls.findLast((poll) => !isTrouble(poll))?.atMs ?? 0;
  const witness = surroundings.witness(hostOf(upstream.url), lastOkMs);
  return witness === undefined
    ? { side: "open", because: "They, or the network between us: no other upstream answers that could tell." }
    : { side: "them", because: `${witness.name} answers meanwhile, so our network works.` };
}

function slowness(upstream: UpstreamStatus, snapshot: StatusSnapshot): Verdict {
  if (surroundingsIn(snapshot).areAllOthersSlow(hostOf(upstream.url)))
    return { side: "us", because: "Every upstream is slow: more likely our own network or machine." };
  const phase = longestPhase(upstream.lastPolls.findLast((poll) => poll.degraded)?.phasesMs ?? {});
  return phase === "wait" || phase === "transfer"
    ? { side: "them", because: "Most of the time is theirs: it goes by after our request has arrived." }
    : {
        side: "open",
        because:
          "Most of the time goes by before our request is sent: their edge, or the network between us.",
      };
}

function longestPhase(phasesMs: PhaseTimesMs): Phase | undefined {
  return PHASES.toSorted((a, b) => (phasesMs[b] ?? 0) - (phasesMs[a] ?? 0)).find(
    (phase) => phasesMs[phase] !== undefined,
  );
}

function throttling({ lastPolls }: UpstreamStatus): Verdict {
  return lastPolls.findLast(isTrouble)?.reason === "quota"
    ? {
        side: "limit",
        because:
          "The quota or the credit of our key is spent; production is refused, too, if it shares the account.",
      }
    : { side: "limit", because: "They answer, and ask us to slow down: this is no outage." };
}

const BLINDED_BY: Readonly<Record<SkipCause, Side>> = {
  budget: "us",
  backoff: "limit",
  yield: "limit",
  quota: "limit",
  overlap: "us",
  missed: "us",
  ledger: "us",
  shutdown: "us",
};

function blindness({ skippedSincePoll, lastPolls, counts }: UpstreamStatus): Verdict {
  const [cause] = skippedSincePoll.toSorted((a, b) => b.count - a.count).map(({ cause }) => cause);
  const because = "Nothing is known of them meanwhile.";
  if (cause !== undefined) return { side: BLINDED_BY[cause], because };
  return counts.polls > 0 && lastPolls.at(-1)?.reason === "internal" ? { side: "us", because } : NOBODY;
}

/** What is the matter with an upstream, in sentences. */
export type Diagnosis = Verdict & { readonly reason: string };

export function diagnosisOf(upstream: UpstreamStatus, snapshot: StatusSnapshot): Diagnosis {
  const reason = reasonSentence(upstream, budgetOf(upstream, snapshot), snapshot.nowMs);
  return { ...verdictOn(upstream, snapshot), reason };
}

export function budgetOf({ budget }: UpstreamStatus, snapshot: StatusSnapshot): BudgetStatus | undefined {
  return surroundingsIn(snapshot).budget(budget);
}
