import { UpstreamAccounts } from "../../../src/kernel/metrics/accounts.ts";
import type { Poll } from "../../../src/kernel/poll/poll.ts";
import type { PollEvent, Recorder } from "../../../src/kernel/poll/ports.ts";
import { accountsClose } from "../../support/accounts-close.ts";

/** What one upstream does in the line of its budget. */
export type Turn = "waits" | "served" | "left";

/** An account of its own beside the real one, and the two compared. */
export class Tally implements Recorder {
  readonly accounts: UpstreamAccounts = new UpstreamAccounts("email", 0);
  readonly #onTurn: (turn: Turn) => void;
  readonly #nowMs: () => number;
  slots = 0;
  waiting = 0;
  inFlight = 0;
  polls = 0;
  skipped = 0;
  ok = 0;
  /** Before they leave. */
  connecting = 0;
  /** Requests that were seen to leave, whoever sent them. */
  sent = 0;
  /** Of those, the ones that came to an end. */
  ended = 0;
  /** Began, and ended before anything was written. */
  unsent = 0;
  lastOkAtMs: number = Number.NEGATIVE_INFINITY;

  constructor(onTurn: (turn: Turn) => void, nowMs: () => number) {
    this.#onTurn = onTurn;
    this.#nowMs = nowMs;
  }

  record(event: PollEvent): void {
    this.accounts.record(event);
    switch (event.kind) {
      case "slot_waiting":
        this.waiting += 1;
        this.#onTurn("waits");
        return;
      case "slot_started":
        this.waiting -= 1;
        this.inFlight += 1;
        this.slots += 1;
        this.#onTurn("served");
        return;
      case "slots_skipped":
        if (event.had === "waited") this.waiting -= 1;
        if (event.had === "started") {
          this.inFlight -= 1;
          this.unsent += 1;
        } else this.slots += event.count;
        this.skipped += event.count;
        // For want of a lease only the slot changes: its upstream waits on.
        if (event.had !== "waited" || event.cause !== "budget") this.#onTurn("left");
        return;
      case "polled":
        this.accounts.record({ ...event, kind: "judged", watchedMs: 0 });
        this.#polled(event.poll);
        return;
      case "pause_requested":
      case "refused":
      case "health_changed":
      case "judged":
        return;
      case "unwatched":
        return;
      default:
        event satisfies never;
    }
  }

  #polled(poll: Poll): void {
    this.inFlight -= 1;
    this.polls += 1;
    if (poll.outcome.kind !== "ok") return;
    this.ok += 1;
    this.lastOkAtMs = this.#nowMs();
  }

  /** What does not add up, in words. */
  fault(): string | undefined {
    const { accounts } = this;
    if (this.slots !== this.polls + this.inFlight + this.skipped) {
      return `${this.slots} slots are not ${this.polls} polls + ${this.inFlight} in flight + ${this.skipped} skipped`;
    }
    const ended = this.polls + this.unsent;
    if (this.sent + this.connecting !== ended + this.inFlight || this.ended !== ended) {
      const told = `${this.polls} polls and ${this.inFlight} in flight were told of`;
      return `${this.sent} requests left and ${this.ended} of them ended, but ${told}`;
    }
    if (this.waiting < 0 || this.waiting > 1 || this.inFlight < 0) {
      return `${this.waiting} slots wait, ${this.inFlight} are in flight`;
    }
    const isTold =
      accountsClose(accounts) &&
      accounts.slots === this.slots &&
      accounts.totalPolls === this.polls &&
      accounts.skips.total === this.skipped &&
      accounts.waiting === this.waiting;
    return isTold
      ? undefined
      : `what a scrape shows (${accounts.slots} slots) is not what happened (${this.slots})`;
  }
}
