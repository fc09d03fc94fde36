/** Each feature adds these to an upstream, and to the budgets of all. A feature that goes takes its lines here with it. */

import { Hints, type HintsParts } from "../../features/hints/hints.ts";
import { askedOf } from "../../features/quota/cost.ts";
import { heldNote } from "../../features/hints/record.ts";
import { Journals } from "../../features/quota/journal.ts";
import type { KeptQuotas } from "../../features/quota/quota.ts";
import { Quotas } from "../../features/quota/quotas.ts";
import { askFor } from "../../kernel/budget/ledger.ts";
import { LocalLedger, type Right } from "../../kernel/budget/local-ledger.ts";
import type { Config, Upstream } from "../../kernel/config/config.ts";
import type { Gate, Recorder } from "../../kernel/poll/ports.ts";
import type { Equipment } from "../../kernel/polling/poll-once.ts";
import type { NoteHome } from "../../kernel/text/notes.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { mayBePolledBetweenSlots } from "../../proof/looking-again.ts";
import { judgingOf } from "./judging.ts";
import { PROOF_PARTS, sendersOf } from "./proof.ts";

/** It runs beside the polls of an upstream. */
export type Beside = {
  /** Undefined where it never holds this upstream back. */
  gateOf?(upstream: Upstream): Gate | undefined;
  recorderOf?(upstream: string): Recorder;
};

export function equipmentOf(
  upstream: Upstream,
  { hints }: Pick<Budgets, "hints">,
  services: readonly Beside[] = [],
): Equipment {
  return {
    ask: askFor(upstream.budgets, askedOf(upstream)),
    gates: [hints.gateOf(upstream), ...services.flatMap((service) => service.gateOf?.(upstream) ?? [])],
    judging: judgingOf(upstream),
    isPolledBetweenSlots: mayBePolledBetweenSlots(upstream, PROOF_PARTS),
  };
}

/** The budgets of a process, and all that holds them back. */
export type Budgets = {
  readonly ledger: LocalLedger;
  readonly hints: Hints;
  readonly quotas: Quotas;
  /** What the next process must know is on its way to its homes. */
  readonly journal: Journals;
};

export type BudgetsParts = Pick<HintsParts, "budgets" | "pauses" | "keepPause"> & {
  /** Earlier processes sent so much. */
  readonly quotas?: KeptQuotas;
  readonly homes?: readonly NoteHome[];
  readonly right?: Right | undefined;
};

export function openBudgets(config: Config, clock: Clock, parts: BudgetsParts = {}): Budgets {
  const { homes = [], budgets = new Map(), right } = parts;
  const journal = new Journals(homes);
  const quotas = new Quotas(clock, parts.quotas);
  const keepBudget: HintsParts["keepBudget"] = (budget, record) => {
    journal.put(heldNote(budget, record));
    return journal.written();
  };
  const hints = new Hints({
    ...parts,
    clock,
    calendar: quotas.calendar,
    ...(homes.length > 0 && { keepBudget }),
  });
  const ledger = new LocalLedger(config, clock, {
    constraints: [hints, quotas],
    sendersOf,
    partsBefore: new Map([...budgets].map(([name, { part }]) => [name, part])),
    right,
  });
  if (homes.length > 0) quotas.keepIn(journal);
  return { ledger, hints, quotas, journal };
}
