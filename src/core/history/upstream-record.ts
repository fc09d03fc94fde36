import { UpstreamAccounts } from "../metrics/accounts.ts";
import type { History } from "./history.ts";
import type { PollEvent, Recorder } from "../poll/ports.ts";

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

  record(event: PollEvent): void {
    for (const recorder of this.#recorders) recorder.record(event);
  }
}
