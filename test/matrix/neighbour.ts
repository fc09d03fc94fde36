import { answer } from "../support/raw-upstream.ts";
import type { Behaviour } from "../support/behaviours/behaviour.ts";
import { meet, meetingOf } from "../support/behaviours/meet.ts";
import { serving, type Stage } from "../support/behaviours/stage.ts";

const HEALTHY: Behaviour = {
  does: "is healthy",
  open: serving(async (connection) => {
    await connection.request();
    connection.write(answer('{"data":[]}'));
  }),
  meets: "ok",
  says: "answered 200 with 11 B",
};

/** An upstream without a fault, which is polled all the time while others misbehave. */
export class Neighbour implements AsyncDisposable {
  readonly #stage: Stage;
  readonly #polling: Promise<void>;
  readonly missed: string[] = [];
  #polls = 0;
  #told = Promise.withResolvers<void>();
  #isOver = false;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#polling = this.#pollOnAndOn();
  }

  get polls(): number {
    return this.#polls;
  }

  /** A poll that was sent after this call has ended. */
  async polledAgain(): Promise<void> {
    for (const enough = this.#polls + 2; this.#polls < enough;) await this.#told.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#polling;
    await this.#stage.close();
  }

  async #pollOnAndOn(): Promise<void> {
    while (!this.#isOver) {
      const poll = await meet(HEALTHY, this.#stage);
      if (meetingOf(poll) !== "ok") this.missed.push(poll.detail);
      this.#polls += 1;
      this.#told.resolve();
      this.#told = Promise.withResolvers<void>();
      // Often, and yet not all that this machine does.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

export async function startNeighbour(): Promise<Neighbour> {
  return new Neighbour(await HEALTHY.open());
}
