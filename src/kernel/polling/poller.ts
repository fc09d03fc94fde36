import type { Upstream } from "../config/config.ts";
import {
  foldHealth,
  UNKNOWN_HEALTH,
  type Health,
  type HealthEvent,
  type HealthFold,
} from "../poll/health.ts";
import { type SkipCause, SKIPS } from "../exchange/outcome.ts";
import type { Poll, SlotOrigin } from "../poll/poll.ts";
import type { Lease, Ledger } from "../budget/ledger.ts";
import {
  type Ending,
  graver,
  type HeldBack,
  type Probe,
  type Recorder,
  SLOT_STARTED,
  SLOT_WAITING,
  type Ticket,
} from "../poll/ports.ts";
import { slotsOf } from "../schedule/schedule.ts";
import type { LeaseQueue } from "./lease-queue.ts";
import {
  endedUnsent,
  type Equipment,
  pollOnce,
  type PollOnceParts,
  type Slot,
  type Target,
} from "./poll-once.ts";

/** What all pollers of a process share. */
export type PollingParts = PollOnceParts & {
  readonly ledger: Ledger;
  readonly equip: (upstream: Upstream) => Equipment;
  /** So often may an upstream be looked at again between two slots, while it is down. */
  readonly looksOf?: ((upstream: string) => number) | undefined;
};

export type PollerParts = PollingParts & {
  readonly queue: LeaseQueue;
  readonly recorder: Recorder;
  /** With which it begins: an earlier process has polled it. */
  readonly health?: Health | undefined;
};

type WaitingSlot = Slot & {
  /** Its deadline, before which no other slot of its upstream can come. Monotonic. */
  readonly dueAtMs: number;
  /** A gate asked to be prepared again when the lease was there. */
  readonly isAgain: boolean;
};

type State =
  | { readonly kind: "idle" }
  /** After an unconfirmed failure, or while it is down: one more poll, unless a slot comes first. */
  | { readonly kind: "confirming"; readonly cancel: AbortController }
  /** For its lease; before that for a gate. */
  | { readonly kind: "waiting"; readonly slot: Slot; readonly ticket: Ticket }
  | { readonly kind: "polling"; readonly ended: Promise<void> };

const IDLE: State = { kind: "idle" };

/** Polls one upstream: slot → gates → lease → probe → judge → record, never two at once. */
export class Poller {
  readonly #parts: PollerParts;
  #target: Target;
  #state: State = IDLE;
  #health: Health;
  /** How often it was looked at again since the latest slot that is no confirmation. */
  #looks = 0;
  /** The first unused slot since the last poll. Monotonic. */
  #wantedSinceMs: number | undefined;
  /** The latest slot that is no confirmation. Monotonic. */
  #scheduledAtMs: number | undefined;
  #owedSinceMs: number;
  #isStopped = false;
  readonly #cutOff = new AbortController();

  constructor(upstream: Upstream, probe: Probe, parts: PollerParts) {
    this.#parts = parts;
    this.#target = this.#open(upstream, probe);
    this.#health = parts.health ?? UNKNOWN_HEALTH;
    this.#owedSinceMs = parts.clock.wallNow();
  }

  get target(): Target {
    return this.#target;
  }

  get health(): Health {
    return this.#health;
  }

  /** Since then each slot is owed a poll: the last one ended, was not wanted, or the schedule was set. Wall clock. */
  get owedSinceMs(): number {
    return this.#owedSinceMs;
  }

  slot(origin: SlotOrigin, atMs: number): void {
    if (this.#isStopped) return;
    if (origin !== "confirm") this.#looks = 0;
    if (this.#state.kind === "polling") return this.#skip("overlap", 1);
    const left = this.#leave();
    if (left !== undefined) this.#skipHeld(left, "waited");
    const held = this.#heldBack();
    const skipped = held && SKIPS[held.cause].isAskedFor ? held : undefined;
    for (const gate of this.#target.gates) gate.decided?.(skipped?.cause);
    if (skipped !== undefined) return this.#skipHeld(skipped);
    this.#parts.recorder.record(SLOT_WAITING);
    this.#wait({ origin, atMs });
  }

  /** Slots that came due while the process was late or suspended. */
  missed(count: number): void {
    if (!this.#isStopped) this.#skip(this.#paused()?.cause ?? "missed", count);
  }

  /** From the next poll on. A poll in flight ends as it began, then its probe is closed. */
  async reconfigure(upstream: Upstream, probe: Probe): Promise<void> {
    const past = this.#target;
    const isAnotherSchedule = upstream.schedule.expression !== past.upstream.schedule.expression;
    if (isAnotherSchedule) this.#owedSinceMs = this.#parts.clock.wallNow();
    this.#target = this.#open(upstream, probe);
    const state = this.#state;
    // A lease of other budgets, or for another price, does not cover its next request.
    const isAnotherWay = this.#target.ask.key !== past.ask.key || probe.gate !== past.probe.gate;
    if (state.kind === "waiting" && isAnotherWay) {
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
    for (const gate of this.#target.gates) gate.close?.();
    const state = this.#state;
    if (state.kind === "polling") {
      const isOver = new AbortController();
      void this.#parts.clock.sleep(graceMs, isOver.signal).then(() => this.#cutOff.abort());
      await state.ended;
      isOver.abort();
    } else if (this.#leave() !== undefined) this.#skip("shutdown", 1, "waited");
    await this.#target.probe.close();
  }

  #open(upstream: Upstream, probe: Probe): Target {
    const equipment = this.#parts.equip(upstream);
    const gates = probe.gate === undefined ? equipment.gates : [...equipment.gates, probe.gate];
    for (const gate of gates) gate.onHeld?.(() => this.#giveUp());
    return { ...equipment, upstream, probe, gates };
  }

  /** A gate holds it back since just now. */
  #giveUp(): void {
    if (this.#state.kind === "polling" || this.#state.kind === "idle") return;
    const paused = this.#paused();
    if (paused === undefined) return;
    if (this.#leave() !== undefined) this.#skip(paused.cause, 1, "waited");
    this.#fold({ kind: "paused" });
  }

  /** Waits for nothing any more. Returns why a slot that waited had no lease yet. */
  #leave(): HeldBack | undefined {
    const state = this.#state;
    this.#state = IDLE;
    if (state.kind === "confirming") state.cancel.abort();
    return state.kind === "waiting" ? state.ticket.withdraw() : undefined;
  }

  /** The way of a slot to its poll, step by step: gates that must be prepared, a lease, then the poll. */
  #wait({ origin, atMs }: Slot): void {
    if (origin !== "confirm") this.#scheduledAtMs = atMs;
    // A confirmation is as urgent as the slot that it belongs to: after the next one it is of no use.
    this.#wantedSinceMs ??= this.#scheduledAtMs ?? atMs;
    const dueAtMs = this.#wantedSinceMs + slotsOf(this.#target.upstream.schedule).shortestGapMs;
    this.#prepare({ origin, atMs, dueAtMs, isAgain: false });
  }

  #prepare(slot: WaitingSlot): void {
    for (const gate of this.#target.gates) {
      if (gate.prepare === undefined) continue;
      const prepared = gate.prepare({ dueAtMs: slot.dueAtMs, settled: () => this.#prepare(slot) });
      if (prepared?.kind === "failed") return this.#endWithout(slot, prepared);
      if (prepared === undefined) continue;
      this.#state = { kind: "waiting", slot, ticket: prepared.ticket };
      return;
    }
    const ticket = this.#parts.queue.enter({
      ask: this.#target.ask,
      dueAtMs: slot.dueAtMs,
      endsAtPause: slot.origin === "confirm",
      granted: (lease) => this.#useLease(slot, lease),
      refused: (reason) => {
        this.#state = IDLE;
        this.#skipHeld(reason, "waited");
        this.#fold({ kind: "paused" });
      },
    });
    this.#state = { kind: "waiting", slot, ticket };
  }

  #useLease(slot: WaitingSlot, lease: Lease): void {
    const stop = this.#stopAtLease(slot.isAgain);
    if (stop === undefined) return this.#begin(slot, lease);
    lease.settle("unsent");
    if (stop === "again") this.#prepare({ ...slot, isAgain: true });
    else this.#endWithout(slot, stop);
  }

  #stopAtLease(isAgain: boolean): "again" | Ending | undefined {
    for (const gate of this.#target.gates) {
      const stop = gate.atLease?.(isAgain);
      if (stop !== undefined) return stop;
    }
    return undefined;
  }

  #endWithout(slot: Slot, ending: Ending): void {
    this.#parts.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    const target = this.#target;
    this.#finish(target, endedUnsent(target.upstream, slot, ending, this.#parts), ending.isConfirmed);
  }

  #begin(slot: Slot, lease: Lease): void {
    this.#parts.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    this.#state = { kind: "polling", ended: this.#poll(this.#target, slot, lease) };
  }

  async #poll(target: Target, slot: Slot, lease: Lease): Promise<void> {
    try {
      const isHeldBack = (): boolean => this.#isStopped || this.#paused() !== undefined;
      const poll = await pollOnce(target, slot, lease, this.#parts, isHeldBack, this.#cutOff.signal);
      if (poll === undefined) this.#endUnsent();
      else this.#finish(target, poll, false);
    } catch (error) {
      this.#parts.onBug(error);
    }
  }

  /** As if nobody had held it at that moment. */
  #endUnsent(): void {
    this.#state = IDLE;
    const paused = this.#isStopped ? undefined : this.#paused();
    this.#skip(this.#isStopped ? "shutdown" : (paused?.cause ?? "missed"), 1, "started");
    // What failed before a pause is not confirmed by what fails after it.
    if (paused !== undefined) this.#fold({ kind: "paused" });
  }

  /** Gates hear of it also once it is stopped: what they are asked for may outlive it. */
  #finish(target: Target, poll: Poll, isKnown: boolean): void {
    const { clock, ledger, recorder } = this.#parts;
    this.#state = IDLE;
    this.#owedSinceMs = clock.wallNow();
    recorder.record({ kind: "polled", poll });
    let isConfirmed = isKnown;
    for (const gate of target.gates) if (gate.ended?.(poll, recorder) === true) isConfirmed = true;
    const endedMs = clock.now();
    const sentMs = endedMs - poll.durationMs;
    const { outcome, degraded: isDegraded } = poll;
    const { confirmsInMs, looksAgainInMs } = this.#fold(
      { kind: "polled", outcome, isDegraded, isConfirmed, sentMs, endedMs },
      poll,
    );
    // Whoever refused us and said when is not asked before: the first slot after that confirms.
    const furtherInMs = confirmsInMs ?? looksAgainInMs;
    if (furtherInMs === undefined || this.#isStopped || this.#paused() !== undefined) return;
    const afterMs = Math.max(ledger.paceGapMs(this.#target.ask.budgets), furtherInMs);
    if (confirmsInMs === undefined) void this.#lookAgain(afterMs).catch(this.#parts.onBug);
    else void this.#confirm(afterMs);
  }

  async #confirm(afterMs: number): Promise<void> {
    const cancel = new AbortController();
    this.#state = { kind: "confirming", cancel };
    const { clock } = this.#parts;
    await clock.sleep(afterMs, cancel.signal);
    if (cancel.signal.aborted) return;
    this.#state = IDLE;
    if (this.#paused() === undefined) this.slot("confirm", clock.now());
    else this.#fold({ kind: "paused" });
  }

  /** While it is down, with what nobody else waits for: where there is no room for a look, it is none, and no slot. */
  async #lookAgain(afterMs: number): Promise<void> {
    const { clock, ledger, queue, recorder, looksOf } = this.#parts;
    if (this.#looks >= (looksOf?.(this.#target.upstream.name) ?? 0)) return;
    const cancel = new AbortController();
    this.#state = { kind: "confirming", cancel };
    for (;;) {
      await clock.sleep(afterMs, cancel.signal);
      if (cancel.signal.aborted) return;
      const { upstream, ask } = this.#target;
      const nextSlotMs = (this.#scheduledAtMs ?? Number.NEGATIVE_INFINITY) + upstream.schedule.longestGapMs;
      const isLate = clock.now() + upstream.timeoutMs >= nextSlotMs;
      const held = this.#heldBack(true);
      const isUnwanted = held !== undefined && SKIPS[held.cause].isAskedFor;
      if (isLate || isUnwanted || ledger.isLowered(ask.budgets)) break;
      const lease = this.#stopAtLease(false) === undefined ? await queue.takeFree(ask) : undefined;
      if (lease === undefined) continue;
      if (cancel.signal.aborted) return lease.settle("unsent");
      this.#looks += 1;
      recorder.record(SLOT_WAITING);
      return this.#begin({ origin: "again", atMs: clock.now() }, lease);
    }
    this.#state = IDLE;
  }

  /** Not to be asked of one that is stopped: it may be on budgets that nobody knows any more. */
  #heldBack(isExtra = false): HeldBack | undefined {
    const { ledger, clock } = this.#parts;
    const { ask, gates } = this.#target;
    let held: HeldBack | undefined = ledger.heldBack(ask);
    if (gates.length === 0) return held;
    const nowMs = clock.now();
    for (const gate of gates) held = graver(held, gate.held?.(nowMs, isExtra));
    return held;
  }

  #paused(): HeldBack | undefined {
    const held = this.#heldBack();
    return held !== undefined && SKIPS[held.cause].isPause ? held : undefined;
  }

  #skipHeld({ cause, budget }: HeldBack, had?: "waited"): void {
    this.#skip(cause, 1, had, this.#target.ask.budgets.length === 1 ? undefined : budget);
  }

  #skip(cause: SkipCause, count: number, had?: "waited" | "started", budget?: string): void {
    if (SKIPS[cause].isAskedFor) this.#owedSinceMs = this.#parts.clock.wallNow();
    this.#parts.recorder.record({ kind: "slots_skipped", cause, count, had, budget });
    this.#fold({ kind: "skipped", cause, count });
  }

  /** Returns when a further poll is wanted. */
  #fold(event: HealthEvent, poll?: Poll): HealthFold {
    const from = this.#health.state;
    const { confirm: polls, confirmOverMs: overMs } = this.#target.upstream;
    const fold = foldHealth(this.#health, event, { polls, overMs });
    const { health } = fold;
    this.#health = health;
    if (health.state !== from) {
      this.#parts.recorder.record({
        kind: "health_changed",
        from,
        to: health.state,
        atMs: this.#parts.clock.wallNow(),
        poll,
      });
    }
    return fold;
  }
}
