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
  type PollOnceDeps,
  type Slot,
  type Target,
} from "./poll-once.ts";

/** All pollers of a process share these. */
export type PollingDeps = PollOnceDeps & {
  readonly ledger: Ledger;
  readonly equip: (upstream: Upstream) => Equipment;
  /** So often may an upstream be looked at again between two slots, while it is down. */
  readonly looksOf?: ((upstream: string) => number) | undefined;
};

export type PollerDeps = PollingDeps & {
  readonly queue: LeaseQueue;
  readonly recorder: Recorder;
  /** With which it begins: an earlier process has polled it. */
  readonly health?: Health | undefined;
};

type WaitingSlot = Slot & {
  /** Its deadline, before which no other slot of its upstream can come. Monotonic. */
  readonly dueMs: number;
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

/** A timer may end up to a millisecond before its time, when a pause that begins with it still holds. */
const WAKES_EARLY_MS = 2;

const IDLE: State = { kind: "idle" };

/** Polls one upstream: slot → gates → lease → probe → judge → record, never two at once. */
export class Poller {
  readonly #deps: PollerDeps;
  #target: Target;
  #state: State = IDLE;
  #health: Health;
  /** How often it was looked at again since the latest slot that is no confirmation. */
  #looks = 0;
  /** The first unused slot since the last poll. Monotonic. */
  #wantedSinceMs: number | undefined;
  /** The latest slot that is no confirmation. Monotonic. */
  #latestSlotMs: number | undefined;
  #owedSinceMs: number;
  #isStopped = false;
  readonly #cutOff = new AbortController();

  constructor(upstream: Upstream, probe: Probe, deps: PollerDeps) {
    this.#deps = deps;
    this.#target = this.#open(upstream, probe);
    this.#health = deps.health ?? UNKNOWN_HEALTH;
    this.#owedSinceMs = deps.clock.wallNow();
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

  slot(origin: SlotOrigin, cameMs: number): void {
    if (this.#isStopped) return;
    if (origin !== "confirm") this.#looks = 0;
    if (this.#state.kind === "polling") return this.#skip("overlap", 1);
    const left = this.#leave();
    if (left !== undefined) this.#skipHeld(left, "waited");
    const held = this.#heldBack();
    const skipped = held && SKIPS[held.cause].isAskedFor ? held : undefined;
    for (const gate of this.#target.gates) gate.decided?.(skipped?.cause);
    if (skipped !== undefined) return this.#skipHeld(skipped);
    this.#deps.recorder.record(SLOT_WAITING);
    this.#wait({ origin, cameMs });
  }

  /** Slots that came due while the process was late or suspended. */
  missed(count: number): void {
    if (!this.#isStopped) this.#skip(this.#paused()?.cause ?? "missed", count);
  }

  /** From the next poll on. A poll in flight ends as it began, then its probe is closed. */
  async reconfigure(upstream: Upstream, probe: Probe): Promise<void> {
    const past = this.#target;
    const isAnotherSchedule = upstream.schedule.expression !== past.upstream.schedule.expression;
    if (isAnotherSchedule) this.#owedSinceMs = this.#deps.clock.wallNow();
    this.#target = this.#open(upstream, probe);
    for (const gate of past.gates) if (!this.#target.gates.includes(gate)) gate.close?.();
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
      void this.#deps.clock.sleep(graceMs, isOver.signal).then(() => this.#cutOff.abort());
      await state.ended;
      isOver.abort();
    } else if (this.#leave() !== undefined) this.#skip("shutdown", 1, "waited");
    await this.#target.probe.close();
  }

  #open(upstream: Upstream, probe: Probe): Target {
    const equipment = this.#deps.equip(upstream);
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
  #wait({ origin, cameMs }: Slot): void {
    if (origin !== "confirm") this.#latestSlotMs = cameMs;
    // A confirmation is as urgent as the slot that it belongs to: after the next one it is of no use.
    this.#wantedSinceMs ??= this.#latestSlotMs ?? cameMs;
    const dueMs = this.#wantedSinceMs + slotsOf(this.#target.upstream.schedule).shortestGapMs;
    this.#prepare({ origin, cameMs, dueMs, isAgain: false });
  }

  #prepare(slot: WaitingSlot): void {
    for (const gate of this.#target.gates) {
      if (gate.prepare === undefined) continue;
      const prepared = gate.prepare({ dueMs: slot.dueMs, settled: () => this.#prepare(slot) });
      if (prepared?.kind === "failed") return this.#endWithout(slot, prepared);
      if (prepared === undefined) continue;
      this.#state = { kind: "waiting", slot, ticket: prepared.ticket };
      return;
    }
    const ticket = this.#deps.queue.enter({
      ask: this.#target.ask,
      dueMs: slot.dueMs,
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
    if (stop === "prepare") this.#prepare({ ...slot, isAgain: true });
    else this.#endWithout(slot, stop);
  }

  #stopAtLease(isAgain: boolean): "prepare" | Ending | undefined {
    let stop: "prepare" | Ending | undefined;
    for (const gate of this.#target.gates) stop ??= gate.atLease?.(isAgain);
    return stop;
  }

  #endWithout(slot: Slot, ending: Ending): void {
    this.#deps.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    const target = this.#target;
    const poll = endedUnsent(target.upstream, slot, ending, this.#deps);
    this.#finish(target, poll, this.#deps.clock.now(), ending.isConfirmed);
  }

  #begin(slot: Slot, lease: Lease): void {
    this.#deps.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    this.#state = { kind: "polling", ended: this.#poll(this.#target, slot, lease) };
  }

  async #poll(target: Target, slot: Slot, lease: Lease): Promise<void> {
    const sentMs = this.#deps.clock.now();
    try {
      const isHeldBack = (): boolean => this.#isStopped || this.#paused() !== undefined;
      const poll = await pollOnce(target, slot, lease, this.#deps, isHeldBack, this.#cutOff.signal);
      if (poll === undefined) this.#endUnsent();
      else this.#finish(target, poll, sentMs, false);
    } catch (error) {
      this.#deps.onBug(error);
      // Else each later slot would find it polling.
      if (this.#state.kind === "polling") this.#endUnsent();
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

  /**
   * Recorders come first: a pause is told after the poll that asks for it. Then gates, also once it is stopped, as what
   * they are asked for may outlive it; then health, which asks for a further poll only where no gate holds it back.
   */
  #finish(target: Target, poll: Poll, sentMs: number, isKnown: boolean): void {
    const { clock, ledger, recorder } = this.#deps;
    this.#state = IDLE;
    this.#owedSinceMs = clock.wallNow();
    recorder.record({ kind: "polled", poll });
    let saysForMs = -1;
    for (const gate of target.gates) saysForMs = Math.max(saysForMs, gate.ended?.(poll, recorder) ?? -1);
    const isConfirmed = isKnown || saysForMs >= target.upstream.confirmOverMs;
    // Its answer may have waited to be judged.
    const endedMs = clock.now();
    const { confirmsInMs, looksAgainInMs } = this.#fold(
      { kind: "polled", outcome: poll.outcome, isDegraded: poll.degraded, isConfirmed, sentMs, endedMs },
      poll,
    );
    const furtherInMs = confirmsInMs ?? looksAgainInMs;
    if (furtherInMs === undefined || this.#isStopped) return;
    // Whoever said when it can be asked again is asked then. After any other pause the first slot confirms.
    if (saysForMs < 0 && this.#paused() !== undefined) return;
    const nextMs = Math.max(ledger.paceGapMs(this.#target.ask.budgets), furtherInMs);
    const afterMs = Math.max(nextMs, saysForMs + WAKES_EARLY_MS);
    const further = confirmsInMs === undefined ? this.#lookAgain(afterMs, nextMs) : this.#confirm(afterMs);
    void further.catch(this.#deps.onBug);
  }

  async #confirm(afterMs: number): Promise<void> {
    const cancel = new AbortController();
    this.#state = { kind: "confirming", cancel };
    await this.#deps.clock.sleep(afterMs, cancel.signal);
    if (cancel.signal.aborted) return;
    this.#state = IDLE;
    if (this.#paused() === undefined) this.slot("confirm", this.#deps.clock.now());
    else this.#fold({ kind: "paused" });
  }

  /** While it is down, with what nobody else waits for: where there is no room for a look, it is none, and no slot. */
  async #lookAgain(afterMs: number, nextMs: number): Promise<void> {
    const { clock, ledger, queue, recorder, looksOf } = this.#deps;
    if (this.#looks >= (looksOf?.(this.#target.upstream.name) ?? 0)) return;
    const cancel = new AbortController();
    this.#state = { kind: "confirming", cancel };
    for (let restMs = afterMs; ; restMs = nextMs) {
      await clock.sleep(restMs, cancel.signal);
      if (cancel.signal.aborted) return;
      const { upstream, ask } = this.#target;
      const nextSlotMs = (this.#latestSlotMs ?? Number.NEGATIVE_INFINITY) + upstream.schedule.longestGapMs;
      const isLate = clock.now() + upstream.timeoutMs >= nextSlotMs;
      const held = this.#heldBack(true);
      const isUnwanted = held !== undefined && SKIPS[held.cause].isAskedFor;
      if (isLate || isUnwanted || ledger.isLowered(ask.budgets)) break;
      const lease = this.#stopAtLease(false) === undefined ? await queue.takeFree(ask) : undefined;
      if (lease === undefined) continue;
      // It may have been moved to other budgets while the ledger was asked.
      if (cancel.signal.aborted || this.#target.ask.key !== ask.key) {
        lease.settle("unsent");
        continue;
      }
      this.#looks += 1;
      recorder.record(SLOT_WAITING);
      return this.#begin({ origin: "again", cameMs: clock.now() }, lease);
    }
    this.#state = IDLE;
  }

  /** Not to be asked of one that is stopped: it may be on budgets that nobody knows any more. */
  #heldBack(isExtra = false): HeldBack | undefined {
    const { ledger, clock } = this.#deps;
    const { ask, gates } = this.#target;
    let held: HeldBack | undefined = ledger.heldBack(ask);
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
    if (SKIPS[cause].isAskedFor) this.#owedSinceMs = this.#deps.clock.wallNow();
    this.#deps.recorder.record({ kind: "slots_skipped", cause, count, had, budget });
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
      const change = { from, to: health.state, atMs: this.#deps.clock.wallNow(), poll };
      this.#deps.recorder.record({ kind: "health_changed", ...change });
    }
    return fold;
  }
}
