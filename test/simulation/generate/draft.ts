import type { Dice } from "./dice.ts";
import { closedBy, drawEdit, otherName, type Closed } from "./edits.ts";
import type { Edit, Setup } from "../world/scenario.ts";
import { budgetNameOf, edited } from "../world/setup.ts";

/** The config as the edits drawn so far have made it. */
export class Draft {
  readonly #dice: Dice;
  readonly #closed: Closed[] = [];
  /** Upstreams that were removed: one may come back, with another budget. */
  readonly #gone: string[] = [];
  #setup: Setup;
  #edits = 0;

  constructor(setup: Setup, dice: Dice) {
    this.#setup = setup;
    this.#dice = dice;
  }

  get setup(): Setup {
    return this.#setup;
  }

  edit(): Edit {
    this.#edits += 1;
    return this.#make(drawEdit(this.#setup, this.#closed, this.#gone, `e${this.#edits}`, this.#dice));
  }

  rename(credential: string): Edit {
    this.#edits += 1;
    const name = budgetNameOf(this.#setup, credential) ?? credential;
    return this.#make({ kind: "rename", credential, to: otherName(name, `e${this.#edits}`, this.#dice) });
  }

  #make(edit: Edit): Edit {
    const closed = closedBy(edit, this.#setup);
    if (closed !== undefined) this.#closed.push(closed);
    if (edit.kind === "remove") this.#gone.push(edit.upstream);
    this.#setup = edited(this.#setup, edit);
    return edit;
  }
}
