import type { LedgerStore, Stored, SharedState } from "../../../../src/core/fleet/ledger-store.ts";
import { takeOfEach } from "../../../models/shared-budget.ts";
import { budgetIn, type KeptBudget, type StoreMemory } from "./memory.ts";
import type { StoreRoute } from "./route.ts";

type Moment = Parameters<KeptBudget["look"]>[2];

/** The shared budgets as one replica reaches them. `onEpoch` hears what each answer names, also where it is lost. */
export function ledgerOver(
  way: StoreRoute<StoreMemory>,
  onEpoch: (budget: string, epoch: string) => void,
): LedgerStore {
  const ask = <Answer extends SharedState>(
    budget: string,
    step: (budget: KeptBudget, at: Moment) => Answer,
  ): Promise<Stored<Answer>> =>
    way.ask(
      (memory, { nowMs, runId }) => step(budgetIn(memory, budget), { nowMs, run: runId }),
      ({ epoch }) => onEpoch(budget, epoch),
    );
  return {
    take: (terms, lease) =>
      way.ask(
        (memory, { nowMs, runId }) => {
          const at = { nowMs, run: runId };
          return takeOfEach(terms, ({ budget }) => budgetIn(memory, budget), lease, at);
        },
        ({ states }) => {
          for (const [index, { budget }] of terms.entries()) onEpoch(budget, states[index]?.epoch ?? "");
        },
      ),
    report: (terms, messages) => ask(terms.budget, (budget, at) => budget.report(terms, messages, at)),
    look: (terms, isAnew) => ask(terms.budget, (budget, at) => budget.look(terms, isAnew, at)),
    reportUsage: (terms, contribution) =>
      ask(terms.budget, (budget, at) => budget.reportUsage(terms, contribution, at)),
    takeSeat: (seats, owner, forMs) =>
      way.ask((memory, { nowMs }) => memory.seats.takeSeat(seats, owner, forMs, nowMs)),
    leaveSeat: (owner) =>
      way.ask((memory) => {
        memory.seats.leaveSeat(owner);
        return undefined;
      }),
    onBack: (listener) => way.onBack(listener),
  };
}
