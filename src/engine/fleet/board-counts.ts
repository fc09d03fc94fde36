import type { Note, NoteHome } from "../../core/budget/journal.ts";
import type { QuotaCount } from "../../core/budget/quota.ts";
import type { Quotas } from "../../core/budget/quotas.ts";
import type { CountRequest, FleetBoard } from "../../core/fleet/board.ts";
import { hourOf } from "../../core/time/duration.ts";

export type BoardCountsParts = {
  readonly board: FleetBoard;
  readonly quotas: Quotas;
  /** Whose counts these are: those of a budget that has one holder at a time are continued by the next one. */
  readonly name: string;
};

/** The first tells what the board has, the next writes; one more where the board has lost its data, or a claim came between. */
const MOST_CALLS = 4;

/** What this replica uses of quotas, on the board: whoever takes over counts it too, and so do all who share it. */
export class BoardCounts implements NoteHome {
  readonly #parts: BoardCountsParts;
  /** The board has these of our name, by hour. */
  readonly #known = new Map<QuotaCount, ReadonlyMap<number, number>>();

  constructor(parts: BoardCountsParts) {
    this.#parts = parts;
  }

  async write(notes: readonly Note[]): Promise<boolean> {
    const counts = new Set<QuotaCount>();
    for (const note of notes)
      if (note.kind === "quota") counts.add(this.#parts.quotas.of(note.row.budget, note.row.of));
    const each = await Promise.all([...counts].map((count) => this.tell(count)));
    return each.every(Boolean);
  }

  isKnown(count: QuotaCount): boolean {
    return this.#known.has(count);
  }

  /** Others may have counted on it since. */
  forget(count: QuotaCount): void {
    this.#known.delete(count);
  }

  /** Returns whether the board has all that was counted when this was called, and has told what others count. */
  async tell(count: QuotaCount): Promise<boolean> {
    const { board, quotas, name } = this.#parts;
    for (let call = 0; call < MOST_CALLS; call += 1) {
      const { limit, key, buckets } = count;
      if (limit === undefined) return true;
      const oldestHour = hourOf(quotas.calendar.now() - limit.perMs);
      const known = this.#known.get(count);
      const counts = known === undefined ? [] : differences(known, buckets, oldestHour);
      const answer = await board.count({ quota: key, name, oldestHour, counts });
      if (answer === undefined) return false;
      if (this.#known.get(count) !== known) continue;
      const { own, total } = answer;
      this.#known.set(count, own);
      count.elsewhere = total - [...own.values()].reduce((sum, units) => sum + units, 0);
      if (known === undefined) for (const [hour, units] of own) count.raise(hour, units);
      else if ([...buckets].every(([hour, units]) => hour < oldestHour || (own.get(hour) ?? 0) >= units))
        return true;
    }
    return false;
  }
}

function differences(
  known: ReadonlyMap<number, number>,
  buckets: ReadonlyMap<number, number>,
  oldestHour: number,
): CountRequest["counts"] {
  return [...new Set([...known.keys(), ...buckets.keys()])]
    .map((hour) => ({ hour, from: known.get(hour) ?? 0, to: buckets.get(hour) ?? 0 }))
    .filter(({ hour, from, to }) => hour >= oldestHour && from !== to);
}
