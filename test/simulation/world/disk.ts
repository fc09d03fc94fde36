import { quotasIn, type QuotaRow } from "../../../src/features/quota/quota.ts";
import type { Note, NoteHome } from "../../../src/kernel/text/notes.ts";
import type { Dice } from "../generate/dice.ts";
import type { LifeClock } from "./life-clock.ts";

/** What outlives each life, and what was sent that it must know of. */
export class Disk {
  readonly #notes = new Map<string, Note>();
  /** By budget with a quota. */
  readonly #sent = new Map<string, number>();

  get rows(): readonly QuotaRow[] {
    return quotasIn([{ notes: [...this.#notes.values()] }]).rows;
  }

  /** Of one life: it takes its time, and refuses now and then, while `isBad`. What it refuses may be there all the same. */
  homeOf(clock: LifeClock, dice: Dice, isBad: () => boolean): NoteHome {
    return {
      write: async (notes) => {
        const isWritten = !isBad() || dice.chance(0.95);
        const tookMs = isBad() ? dice.pick([0, dice.between(0, 20), dice.between(0, 4_000)]) : 0;
        await clock.sleep(tookMs);
        if (isWritten || dice.chance(0.5))
          for (const note of notes) this.#notes.set(`${note.kind} ${note.key}`, note);
        return isWritten;
      },
    };
  }

  /** What is missing of a request that is sent now, in words. */
  sent(budget: string): string | undefined {
    const sent = (this.#sent.get(budget) ?? 0) + 1;
    this.#sent.set(budget, sent);
    const own = this.rows.filter((row) => row.budget === budget && row.of === "requests");
    const noted = own.reduce((sum, { requests }) => sum + requests, 0);
    return noted < sent ? `${sent} requests of ${budget} were sent, and ${noted} are noted` : undefined;
  }
}
