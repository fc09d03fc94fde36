import { UpstreamAccounts } from "../metrics/accounts.ts";
import type { HealthChange } from "../poll/health.ts";
import type { History } from "./history.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import type { Poll } from "../poll/poll.ts";
import type { Recorder } from "../poll/ports.ts";

/** Everything that is kept of one upstream, for as long as it is in the config: over reloads, not over removal. */
export class UpstreamRecord implements Recorder {
  readonly accounts: UpstreamAccounts = new UpstreamAccounts();
  readonly history: History;
  readonly #recorders: readonly Recorder[];

  /** `others` hear of everything after `history` did. */
  constructor(history: History, others: readonly Recorder[]) {
    this.history = history;
    this.#recorders = [this.accounts, history, ...others];
  }

  slotWaiting(): void {
    for (const recorder of this.#recorders) recorder.slotWaiting();
  }

  slotStarted(): void {
    for (const recorder of this.#recorders) recorder.slotStarted();
  }

  slotSkipped(cause: SkipCause, count: number): void {
    for (const recorder of this.#recorders) recorder.slotSkipped(cause, count);
  }

  slotGaveUp(cause: SkipCause): void {
    for (const recorder of this.#recorders) recorder.slotGaveUp(cause);
  }

  polled(poll: Poll): void {
    for (const recorder of this.#recorders) recorder.polled(poll);
  }

  healthChanged(change: HealthChange): void {
    for (const recorder of this.#recorders) recorder.healthChanged(change);
  }
}
