/** What a request takes of a spend, in billionths of its currency, is told by whoever knows its price. */

import { type Field, field } from "../../kernel/text/field.ts";

export type Cost = {
  readonly currency: string;
  readonly units: number;
  /** So much was reserved for it. */
  readonly reserved: number;
};

/** What a poll did cost. */
export const COST: Field<Cost> = field("cost");

/** The most that a request may cost; absent where that is nothing. */
export const MOST_COST: Field<number> = field("mostCost");
