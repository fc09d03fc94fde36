import { BoardModel } from "../../../models/board.ts";
import { SharedBudgetModel } from "../../../models/shared-budget.ts";

/** Who sits where, and until when by the store's clock. */
export class Seats {
  readonly #seats = new Map<number, { readonly owner: string; readonly untilMs: number }>();

  takeSeat(seats: number, owner: string, forMs: number, nowMs: number): number | undefined {
    const numbers = Array.from({ length: seats }, (_, index) => index + 1);
    const own = numbers.find((seat) => this.#seats.get(seat)?.owner === owner);
    const seat = own ?? numbers.find((each) => (this.#seats.get(each)?.untilMs ?? 0) <= nowMs);
    if (seat !== undefined) this.#seats.set(seat, { owner, untilMs: nowMs + forMs });
    return seat;
  }

  leaveSeat(owner: string): void {
    for (const [seat, taken] of this.#seats) if (taken.owner === owner) this.#seats.delete(seat);
  }
}

export type Board = Pick<BoardModel, "beat" | "claim" | "release">;
export type KeptBudget = Pick<
  SharedBudgetModel,
  "waitFor" | "grant" | "state" | "report" | "look" | "reportUsage"
>;

/** All that the store keeps: the models that its scripts are tested against. */
export type StoreMemory = {
  readonly board: Board;
  readonly published: Map<string, string>;
  readonly budgets: Map<string, KeptBudget>;
  readonly newBudget: () => KeptBudget;
  readonly seats: Seats;
};

export function openMemory(): StoreMemory {
  return {
    board: new BoardModel(),
    published: new Map(),
    budgets: new Map(),
    newBudget: () => new SharedBudgetModel(),
    seats: new Seats(),
  };
}

export function budgetIn({ budgets, newBudget }: StoreMemory, name: string): KeptBudget {
  const budget = budgets.get(name) ?? newBudget();
  budgets.set(name, budget);
  return budget;
}
