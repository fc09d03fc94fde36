import type { Advice } from "../../core/advice/advice.ts";
import type { Upstream } from "../../core/config/config.ts";
import { foldHealth, UNKNOWN_HEALTH, type Health, type HealthEvent } from "../../core/poll/health.ts";
import type { SkipCause } from "../../core/exchange/outcome.ts";
import type { SlotOrigin } from "../../core/poll/poll.ts";
import type { Lease, Ledger } from "../../core/budget/ledger.ts";
import {
  type Probe,
  type Recorder,
  SLOT_STARTED,
  SLOT_WAITING,
  type Ticket,
  type TokenFailure,
} from "../../core/poll/ports.ts";
import { shortestGapMs } from "../../core/schedule/schedule.ts";
import { screenSlot } from "../../core/budget/restraint.ts";
import type { LeaseQueue } from "./lease-queue.ts";
import { pollOnce, type PollOnceParts, type PollResult, type Slot, withoutToken } from "./poll-once.ts";

export type PollerParts = PollOnceParts & {
  readonly ledger: Ledger;
  readonly queue: LeaseQueue;
  readonly recorder: Recorder;
};

type State =
  | { readonly kind: "idle" }
  /** After an unconfirmed failure: one more poll after a pace gap, unless a slot comes first. */
  | { readonly kind: "confirming"; readonly cancel: AbortController }
  /** For its lease; before that for a token, where it needs one. */
  | { readonly kind: "waiting"; readonly slot: Slot; readonly ticket: Ticket }
  | { readonly kind: "polling"; readonly ended: Promise<void> };

const IDLE: State = { kind: "idle" };

const EXPIRED_WAITING: TokenFailure = {
  detail: "no access token: each expires while its poll waits for a lease; a budget of their own may help",
  isRefusal: false,
};

/** Polls one upstream: slot → screen → (token) → lease → probe → judge → record, never two at once. */
export class Poller {
  readonly #parts: PollerParts;
  #upstream: Upstream;
  /** A slot is in time before the next one can come. */
  #periodMs: number;
  #probe: Probe;
  #state: State = IDLE;
  #health: Health = UNKNOWN_HEALTH;
  #yielded = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** The first unused slot since the last poll. Monotonic. */
  #wantedSinceMs: number | undefined;
  /** The latest slot that is no confirmation. Monotonic. */
  #scheduledAtMs: number | undefined;
  #isStopped = false;
  readonly #cutOff = new AbortController();

  constructor(upstream: Upstream, probe: Probe, parts: PollerParts) {
    this.#upstream = upstream;
    this.#periodMs = shortestGapMs(upstream.schedule);
    this.#probe = probe;
    this.#parts = parts;
  }

  get upstream(): Upstream {
    return this.#upstream;
  }

  get health(): Health {
    return this.#health;
  }

  /** Of the upstream alone, not its budget. Monotonic; in the past if there is no pause. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  slot(origin: SlotOrigin, atMs: number): void {
    if (this.#isStopped) return;
    if (this.#state.kind === "polling") return this.#skip("overlap", 1, false);
    if (this.#state.kind === "confirming") this.#state.cancel.abort();
    if (this.#state.kind === "waiting") this.#skip(this.#state.ticket.withdraw(), 1, true);
    this.#state = IDLE;
    const screening = screenSlot(
      this.#parts.ledger.restraint(this.#upstream.budget),
      this.#pausedUntilMs,
      this.#yielded,
      this.#parts.clock.now(),
    );
    this.#yielded = screening.yielded;
    if (screening.skip !== undefined) return this.#skip(screening.skip, 1, false);
    this.#parts.recorder.record(SLOT_WAITING);
    this.#wait({ origin, atMs });
  }

  /** Slots that came due while the process was late or suspended. */
  missed(count: number): void {
    if (!this.#isStopped) this.#skip("missed", count, false);
  }

  /** From the next poll on. A poll in flight ends as it began, then its probe is closed. */
  async reconfigure(upstream: Upstream, probe: Probe): Promise<void> {
    const past = { budget: this.#upstream.budget, probe: this.#probe };
    this.#upstream = upstream;
    this.#periodMs = shortestGapMs(upstream.schedule);
    this.#probe = probe;
    const state = this.#state;
    const waitsForOther = upstream.budget !== past.budget || probe.token !== past.probe.token;
    if (state.kind === "waiting" && waitsForOther) {
      state.ticket.withdraw();
      this.#wait(state.slot);
    }
    if (past.probe === probe) return;
    if (state.kind === "polling") await state.ended;
    await past.probe.close();
  }

  /** No new polls. One in flight is cut off after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    const state = this.#state;
    if (state.kind === "confirming") state.cancel.abort();
    if (state.kind === "waiting") {
      state.ticket.withdraw();
      this.#skip("shutdown", 1, true);
    }
    if (state.kind === "polling") {
      const isOver = new AbortController();
      void this.#parts.clock.sleep(graceMs, isOver.signal).then(() => this.#cutOff.abort());
      await state.ended;
      isOver.abort();
    }
    this.#state = IDLE;
    await this.#probe.close();
  }

  #wait(slot: Slot): void {
    if (slot.origin !== "confirm") this.#scheduledAtMs = slot.atMs;
    // A confirmation is as urgent as the slot that it belongs to: after the next one it is of no use.
    this.#wantedSinceMs ??= this.#scheduledAtMs ?? slot.atMs;
    this.#waitForToken(slot, this.#wantedSinceMs + this.#periodMs);
  }

  /** First, so that nobody keeps a lease meanwhile: the token's own request needs one too. */
  #waitForToken(slot: Slot, dueAtMs: number, hasExpired = false): void {
    const settled = (): void => this.#waitForToken(slot, dueAtMs, hasExpired);
    const standing = this.#probe.token?.ask({ dueAtMs, settled });
    if (standing === undefined || standing.kind === "usable") {
      this.#waitForLease(slot, dueAtMs, hasExpired);
    } else if (standing.kind === "unavailable") {
      this.#endWithoutToken(slot, standing.failure);
    } else {
      this.#state = { kind: "waiting", slot, ticket: standing.ticket };
    }
  }

  #endWithoutToken(slot: Slot, failure: TokenFailure): void {
    this.#parts.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    this.#finish(this.#upstream, withoutToken(slot, failure, this.#parts), failure.isRefusal);
  }

  #waitForLease(slot: Slot, dueAtMs: number, hasExpired: boolean): void {
    const ticket = this.#parts.queue.enter({
      budget: this.#upstream.budget,
      dueAtMs,
      endsAtPause: slot.origin === "confirm",
      granted: (lease) => {
        if (this.#probe.token?.isUsable() !== false) return this.#begin(slot, lease);
        lease.settle("unsent");
        // A pace that is slower than tokens expire would go on like this for ever.
        if (hasExpired) this.#endWithoutToken(slot, EXPIRED_WAITING);
        else this.#waitForToken(slot, dueAtMs, true);
      },
      refused: (cause) => {
        this.#state = IDLE;
        this.#skip(cause, 1, true);
        this.#fold({ kind: "paused" });
      },
    });
    this.#state = { kind: "waiting", slot, ticket };
  }

  #begin(slot: Slot, lease: Lease): void {
    this.#parts.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    const upstream = this.#upstream;
    const probe = this.#probe;
    const ended = pollOnce(upstream, probe, slot, lease, this.#parts, this.#cutOff.signal)
      .then((result) => {
        const status = result.poll.head?.status;
        probe.token?.judged(status === undefined ? undefined : status !== 401);
        this.#finish(upstream, result, result.advice?.pause?.scope === "upstream");
      })
      .catch((error: unknown) => this.#parts.onBug(error));
    this.#state = { kind: "polling", ended };
  }

  #finish(upstream: Upstream, { poll, advice }: PollResult, isConfirmed: boolean): void {
    this.#state = IDLE;
    this.#parts.recorder.record({ kind: "polled", poll });
    if (advice !== undefined) this.#heed(upstream.budget, advice);
    const wantsConfirmation = this.#fold({
      kind: "polled",
      outcome: poll.outcome,
      isDegraded: poll.degraded,
      isConfirmed,
    });
    if (wantsConfirmation && !this.#isStopped) void this.#confirm();
  }

  #heed(budget: string, advice: Advice): void {
    const { ledger, clock, recorder } = this.#parts;
    ledger.applyAdvice(budget, advice);
    const { pause } = advice;
    // The budget of a stopped upstream may have left the config.
    if (this.#isStopped || pause === undefined || pause.forMs <= 0) return;
    const { maxPauseMs } = ledger.restraint(this.#upstream.budget);
    recorder.record({ kind: "pause_requested", pause, budget, maxPauseMs });
    if (pause.scope === "upstream") this.#pausedUntilMs = clock.now() + Math.min(pause.forMs, maxPauseMs);
  }

  async #confirm(): Promise<void> {
    const cancel = new AbortController();
    this.#state = { kind: "confirming", cancel };
    const { clock, ledger } = this.#parts;
    await clock.sleep(ledger.restraint(this.#upstream.budget).paceGapMs, cancel.signal);
    if (cancel.signal.aborted) return;
    this.#state = IDLE;
    const isPaused = ledger.restraint(this.#upstream.budget).pausedUntilMs > clock.now();
    if (isPaused) this.#fold({ kind: "paused" });
    else this.slot("confirm", clock.now());
  }

  #skip(cause: SkipCause, count: number, hadWaited: boolean): void {
    this.#parts.recorder.record({ kind: "slots_skipped", cause, count, hadWaited });
    this.#fold({ kind: "skipped", cause, count });
  }

  /** Returns whether a failure is to be confirmed. */
  #fold(event: HealthEvent): boolean {
    const from = this.#health.state;
    const { health, wantsConfirmation } = foldHealth(this.#health, event, this.#upstream.confirm);
    this.#health = health;
    if (health.state !== from) {
      this.#parts.recorder.record({
        kind: "health_changed",
        from,
        to: health.state,
        atMs: this.#parts.clock.wallNow(),
      });
    }
    return wantsConfirmation;
  }
}
