import type { Dice } from "./dice.ts";
import { closedBy, drawEdit, type Closed } from "./edits.ts";
import type { Edit, Setup } from "../world/scenario.ts";
import { budgetNameOf, edited } from "../world/setup.ts";

/** The config as the edits drawn so far have made it. */
export class Draft {
  readonly #dice: Dice;
  readonly #closed: Closed[] = [];
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
    return this.#make(drawEdit(this.#setup, this.#closed, `e${this.#edits}`, this.#dice));
  }

  rename(credential: string): Edit {
    this.#edits += 1;
    const [stem] = (budgetNameOf(this.#setup, credential) ?? credential).split("-");
    return this.#make({ kind: "rename", credential, to: `${stem}-e${this.#edits}` });
  }

  #make(edit: Edit): Edit {
    const closed = closedBy(edit, this.#setup);
    if (closed !== undefined) this.#closed.push(closed);
    this.#setup = edited(this.#setup, edit);
    return edit;
  }
}
