import { UpstreamAccounts } from "../metrics/accounts.ts";
import type { PollEvent, Recorder } from "../poll/ports.ts";
import type { History } from "./history.ts";

/** Everything kept about one upstream while it is in the config: across reloads, and only its values across its removal. */
export class UpstreamRecord implements Recorder {
  readonly accounts: UpstreamAccounts = new UpstreamAccounts();
  readonly history: History;
  readonly #recorders: readonly Recorder[];

  /** `others` get each event after `history`. */
  constructor(history: History, others: readonly Recorder[]) {
    this.history = history;
    this.#recorders = [this.accounts, history, ...others];
  }

  record(event: PollEvent): void {
    for (const recorder of this.#recorders) recorder.record(event);
  }
}
