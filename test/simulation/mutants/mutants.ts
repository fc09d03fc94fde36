import type { Probe, Recorder } from "../../../src/core/poll/ports.ts";
import type { Temper } from "../generate/generate.ts";
import {
  deaf,
  firstBudgetOnly,
  freshAfterRenaming,
  perCalendarWindow,
  settlingAs,
  withBudgets,
  withLeases,
  withoutColdStart,
} from "./ledgers.ts";
import type { Mutation } from "./mutation.ts";
import type { ViolationKind } from "../judge/violation.ts";

export type Mutant = Mutation & {
  readonly caughtAs: readonly ViolationKind[];
  /** Where it shows soonest. */
  readonly tempers: readonly Temper[];
};

const YEAR_MS = 365 * 86_400_000;

function retrying(probe: Probe): Probe {
  return {
    poll: async (signal) => {
      const first = await probe.poll(signal);
      return first.exchange.kind === "broken" && !signal.aborted ? probe.poll(signal) : first;
    },
    close: () => probe.close(),
  };
}

function forgettingRefusals(recorder: Recorder): Recorder {
  return {
    record: (event) => {
      const isRefusal = event.kind === "polled" && event.poll.outcome.kind === "throttled";
      if (!isRefusal) recorder.record(event);
    },
  };
}

const noWatchdog: Mutation["wrapTriggers"] = (triggers) => ({
  start: (schedule, onTick) => ({ ...triggers.start(schedule, onTick), replan: () => {} }),
});

export const MUTANTS: readonly Mutant[] = [
  {
    name: "a lease is released at the sending",
    tempers: ["looping", "editing"],
    caughtAs: ["limit"],
    openLedger: withLeases((lease) => {
      lease.settle("answered");
      return { isUsable: () => true, settle: () => {}, charge: () => {} };
    }),
  },
  { name: "a pause is ignored", tempers: ["stormy"], caughtAs: ["pause"], openLedger: deaf },
  {
    name: "a retry is sent outside of the ledger",
    tempers: ["everything"],
    caughtAs: ["limit", "accounts"],
    wrapProbe: retrying,
  },
  {
    name: "a poll that connects when a pause comes is sent",
    tempers: ["stormy"],
    caughtAs: ["pause"],
    wrapProbe: (probe) => ({ ...probe, poll: (signal) => probe.poll(signal) }),
  },
  {
    name: "a cold start waits for no gap",
    tempers: ["looping"],
    caughtAs: ["limit"],
    openLedger: withoutColdStart,
  },
  {
    name: "a budget is fresh once it was renamed",
    tempers: ["ambushed"],
    caughtAs: ["limit"],
    openLedger: freshAfterRenaming,
  },
  {
    name: "linger is ignored",
    tempers: ["editing"],
    caughtAs: ["limit"],
    openLedger: withBudgets((budget) => ({ ...budget, lingerMs: 0 })),
  },
  {
    name: "no answer is taken for not sent",
    tempers: ["stormy"],
    caughtAs: ["limit"],
    openLedger: withLeases(settlingAs((settlement) => (settlement === "unanswered" ? "unsent" : settlement))),
  },
  {
    name: "a lease is held for no longer than the window",
    tempers: ["calm", "crashing", "stepping"],
    caughtAs: ["limit"],
    openLedger: withBudgets((budget) => ({
      ...budget,
      rates: budget.rates.map((rate) => ({ ...rate, perMs: rate.perMs / 1.001 })),
    })),
  },
  {
    name: "leases are counted by the calendar",
    tempers: ["looping"],
    caughtAs: ["limit", "pause"],
    openLedger: perCalendarWindow,
  },
  {
    name: "of several budgets only the first is asked",
    tempers: ["calm", "editing"],
    caughtAs: ["limit", "starving"],
    openLedger: firstBudgetOnly,
  },
  {
    name: "a hostile hint is believed",
    tempers: ["stormy"],
    caughtAs: ["lost", "idle"],
    openLedger: withBudgets((budget) => ({ ...budget, maxPauseMs: YEAR_MS })),
  },
  {
    name: "nobody looks after the triggers",
    tempers: ["stepping"],
    caughtAs: ["lost", "idle"],
    wrapTriggers: noWatchdog,
  },
  {
    name: "half of the share is left unused",
    tempers: ["calm"],
    caughtAs: ["idle", "lost"],
    openLedger: withBudgets((budget) => ({ ...budget, share: budget.share / 2 })),
  },
  {
    name: "a refusal counts as no poll",
    tempers: ["stormy"],
    caughtAs: ["accounts"],
    wrapRecorder: forgettingRefusals,
  },
];
