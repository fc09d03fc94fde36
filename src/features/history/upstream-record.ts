import { UpstreamAccounts } from "../../kernel/metrics/accounts.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { PollEvent, Recorder } from "../../kernel/poll/ports.ts";
import type { History } from "./history.ts";
import { WatchedTime } from "./watched.ts";

declare module "../../kernel/metrics/snapshot.ts" {
  interface Running {
    readonly recordOf?: (upstream: string) => UpstreamRecord | undefined;
  }
}

/** Tells at once, or later, the poll with the outcome that counts. */
export type Judge = (poll: Poll, judged: (poll: Poll) => void) => void;

/** Everything kept about one upstream while it is in the config: across reloads, and its values and incidents across its removal. */
export class UpstreamRecord implements Recorder {
  readonly accounts: UpstreamAccounts;
  readonly history: History;
  readonly #recorders: readonly Recorder[];
  readonly #judge: Judge;
  readonly #watched: WatchedTime;
  readonly #judged = (poll: Poll): void =>
    this.record({ kind: "judged", poll, watchedMs: this.#watched.coveredBy(poll) });

  /** `others` get each event after `history`. */
  constructor(history: History, others: readonly Recorder[], judge: Judge = (poll, judged) => judged(poll)) {
    this.history = history;
    this.#judge = judge;
    this.#watched = new WatchedTime(history.lastPolls);
    this.accounts = new UpstreamAccounts(history.upstream, history.startedAtMs);
    const own: readonly Recorder[] = [this.accounts, history];
    this.#recorders = own.concat(others);
  }

  record(event: PollEvent): void {
    for (const recorder of this.#recorders) recorder.record(event);
    if (event.kind === "polled") this.#judge(event.poll, this.#judged);
  }
}
