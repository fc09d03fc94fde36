/** What a request takes of a spend, in billionths of its currency, is told by whoever knows its price. */

import type { Poll } from "../../kernel/poll/poll.ts";
import type { Tally } from "../history/state.ts";
import { type Field, field } from "../../kernel/text/field.ts";

export type Cost = {
  readonly currency: string;
  readonly units: number;
  /** So much was reserved for it. */
  readonly reserved: number;
};

/** What a poll did cost. */
export const COST: Field<Cost> = field("cost");

/** The state file adds it up for the report. */
export function spentBy({ said }: Pick<Poll, "said">): Tally | undefined {
  const cost = COST.of(said);
  return cost && { name: cost.currency, units: cost.units };
}

/** The most that a request may cost; absent where that is nothing. */
export const MOST_COST: Field<number> = field("mostCost");
