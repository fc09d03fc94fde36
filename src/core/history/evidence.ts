import type { PollStatus } from "../status/status.ts";

/** The first ones confirm an incident. Of the rest the newest shows that it lasted. */
const FIRST_KEPT = 2;
export const EVIDENCE_POLLS: number = FIRST_KEPT + 1;

/** What shows an incident to the provider: polls that were not ok since the last ok one. Our own faults show nothing. */
export class Evidence {
  #polls: readonly PollStatus[];
  #isOver = false;

  /** Continues `restored`, of an incident that is still open. */
  constructor(restored: readonly PollStatus[] = []) {
    this.#polls = restored;
  }

  /** After an ok poll it stays until the next failure, as the incident that just ended is still to be saved. */
  polled(poll: PollStatus): void {
    if (poll.outcome === "ok") this.#isOver = true;
    if (poll.outcome === "ok" || poll.outcome === "ours") return;
    this.#polls = this.#isOver ? [poll] : [...this.#polls.slice(0, FIRST_KEPT), poll];
    this.#isOver = false;
  }

  /** It was ours after all. */
  wasOurs(id: string): void {
    this.#polls = this.#polls.filter((poll) => poll.id !== id);
  }

  /** The oldest first. */
  get polls(): readonly PollStatus[] {
    return this.#polls;
  }
}
