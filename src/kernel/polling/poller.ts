import { ADVICE, type Advice } from "../../features/hints/fields/advice.ts";
import type { Upstream } from "../config/config.ts";
import { mostOf } from "../../features/money/price.ts";
import {
  foldHealth,
  UNKNOWN_HEALTH,
  type Health,
  type HealthEvent,
  type HealthFold,
} from "../poll/health.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import type { Poll, SlotOrigin } from "../poll/poll.ts";
import type { BudgetRestraint, Lease, Ledger } from "../budget/ledger.ts";
import {
  type WaitReason,
  type Probe,
  type Recorder,
  SLOT_STARTED,
  SLOT_WAITING,
  type Ticket,
  type TokenFailure,
} from "../poll/ports.ts";
import { slotsOf } from "../schedule/schedule.ts";
import { WHY } from "../../features/hints/concern.ts";
import { UpstreamPauses } from "../budget/pauses.ts";
import type { Judging } from "../poll/judging.ts";
import { lookingAgain } from "../../features/hints/requested-pause.ts";
import { noToken } from "../../features/auth/token-answer.ts";
import { screenSlot } from "../../features/hints/restraint.ts";
import type { LeaseQueue } from "./lease-queue.ts";
import type { ResourceLimits } from "../../features/hints/resource-limits.ts";
import { pollOnce, type PollOnceParts, type Slot, withoutToken } from "./poll-once.ts";

export type PollerParts = Omit<PollOnceParts, "isHeldBack" | "judging"> & {
  readonly judgingOf: (upstream: Upstream) => Judging;
  readonly ledger: Ledger;
  readonly queue: LeaseQueue;
  readonly recorder: Recorder;
  /** With which it begins: an earlier process has polled it. */
  readonly health?: Health | undefined;
  /** Across reloads. */
  readonly pauses?: UpstreamPauses | undefined;
  /** So often may it be looked at again between two slots, while it is down. */
  readonly looksOf?: (upstream: string) => number;
  /** Without it, what an answer says of limits holds for the whole budget. */
  readonly resourceLimits?: ResourceLimits;
};

type WaitingSlot = Slot & {
  /** Its deadline, before which no other slot of its upstream can come. Monotonic. */
  readonly dueAtMs: number;
  /** The token that it waited for expired while it waited for its lease. */
  readonly lostToken: boolean;
};

type State =
  | { readonly kind: "idle" }
  /** After an unconfirmed failure, or while it is down: one more poll, unless a slot comes first. */
  | { readonly kind: "confirming"; readonly cancel: AbortController }
  /** For its lease; before that for a token, where it needs one. */
  | { readonly kind: "waiting"; readonly slot: Slot; readonly ticket: Ticket }
  | { readonly kind: "polling"; readonly ended: Promise<void> };

/** Of the pauses that an answer may ask for. */
type Bounds = Pick<BudgetRestraint, "maxPauseMs" | "blindAfterMs">;

/** The upstream or a quota wants these slots to be skipped. */
const ASKED_FOR: ReadonlySet<SkipCause> = new Set(["backoff", "yield", "quota"]);

const IDLE: State = { kind: "idle" };

const EXPIRED_WAITING = noToken(
  "each expires while its poll waits for a lease; a budget of their own may help",
);

/** Polls one upstream: slot → screen → (token) → lease → probe → judge → record, never two at once. */
export class Poller {
  readonly #parts: PollerParts;
  #upstream: Upstream;
  #probe: Probe;
  #judging: Judging;
  #state: State = IDLE;
  #health: Health;
  #yielded = 0;
  /** How often it was looked at again since the latest slot that is no confirmation. */
  #looks = 0;
  readonly #pauses: UpstreamPauses;
  /** The first unused slot since the last poll. Monotonic. */
  #wantedSinceMs: number | undefined;
  /** The latest slot that is no confirmation. Monotonic. */
  #scheduledAtMs: number | undefined;
  #owedSinceMs: number;
  #isStopped = false;
  readonly #cutOff = new AbortController();

  constructor(upstream: Upstream, probe: Probe, parts: PollerParts) {
    this.#upstream = upstream;
    this.#probe = probe;
    this.#parts = parts;
    this.#judging = parts.judgingOf(upstream);
    this.#health = parts.health ?? UNKNOWN_HEALTH;
    this.#owedSinceMs = parts.clock.wallNow();
    this.#pauses = parts.pauses ?? new UpstreamPauses(parts.clock);
    this.#pauses.capAt(upstream.name, parts.ledger.restraint(upstream.budgets).maxPauseMs);
    parts.resourceLimits?.join(this);
  }

  get upstream(): Upstream {
    return this.#upstream;
  }

  get health(): Health {
    return this.#health;
  }

  /** The upstream alone pauses until then, not its budget. Monotonic; in the past if there is no pause. */
  get pausedUntilMs(): number {
    return this.#pauses.untilMs(this.#upstream.name);
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
    if (left !== undefined) this.#skipWaiting(left);
    const screening = screenSlot(
      this.#parts.ledger.restraint(this.#upstream.budgets, mostOf(this.#upstream.price)),
      this.pausedUntilMs,
      this.#yielded,
      this.#parts.clock.now(),
    );
    this.#yielded = screening.yielded;
    if (screening.skip !== undefined)
      return this.#skip(screening.skip, 1, undefined, this.#holderOf(screening.skip));
    this.#parts.recorder.record(SLOT_WAITING);
    this.#wait({ origin, atMs });
  }

  /** Slots that came due while the process was late or suspended. */
  missed(count: number): void {
    if (!this.#isStopped) this.#skip(this.#isPaused() ? "backoff" : "missed", count);
  }

  /** From the next poll on. A poll in flight ends as it began, then its probe is closed. */
  async reconfigure(upstream: Upstream, probe: Probe): Promise<void> {
    const past = { lease: leaseWantedBy(this.#upstream), probe: this.#probe };
    const isAnotherSchedule = upstream.schedule.expression !== this.#upstream.schedule.expression;
    if (isAnotherSchedule) this.#owedSinceMs = this.#parts.clock.wallNow();
    this.#upstream = upstream;
    this.#probe = probe;
    this.#judging = this.#parts.judgingOf(upstream);
    const state = this.#state;
    const isAnotherLease = leaseWantedBy(upstream) !== past.lease;
    if (state.kind === "waiting" && (isAnotherLease || probe.token !== past.probe.token)) {
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
    this.#parts.resourceLimits?.leave(this);
    const state = this.#state;
    if (state.kind === "polling") {
      const isOver = new AbortController();
      void this.#parts.clock.sleep(graceMs, isOver.signal).then(() => this.#cutOff.abort());
      await state.ended;
      isOver.abort();
    } else if (this.#leave() !== undefined) this.#skip("shutdown", 1, "waited");
    await this.#probe.close();
  }

  /** Waits for nothing any more. Returns why a slot that waited had no lease yet. */
  #leave(): WaitReason | undefined {
    const state = this.#state;
    this.#state = IDLE;
    if (state.kind === "confirming") state.cancel.abort();
    return state.kind === "waiting" ? state.ticket.withdraw() : undefined;
  }

  /** The way of a slot to its poll, step by step: a token where one is needed, a lease, then the poll. */
  #wait({ origin, atMs }: Slot): void {
    if (origin !== "confirm") this.#scheduledAtMs = atMs;
    // A confirmation is as urgent as the slot that it belongs to: after the next one it is of no use.
    this.#wantedSinceMs ??= this.#scheduledAtMs ?? atMs;
    const dueAtMs = this.#wantedSinceMs + slotsOf(this.#upstream.schedule).shortestGapMs;
    this.#waitForToken({ origin, atMs, dueAtMs, lostToken: false });
  }

  /** Before the lease, so that nobody keeps one meanwhile: the token's own request needs one too. */
  #waitForToken(slot: WaitingSlot): void {
    const { token } = this.#probe;
    if (token === undefined) return this.#waitForLease(slot);
    const askAgain = (): void => this.#waitForToken(slot);
    const standing = token.ask({ dueAtMs: slot.dueAtMs, settled: askAgain });
    if (standing.kind === "waiting") this.#state = { kind: "waiting", slot, ticket: standing.ticket };
    else if (standing.kind === "usable") this.#waitForLease(slot);
    else this.#endWithoutToken(slot, standing.failure);
  }

  #waitForLease(slot: WaitingSlot): void {
    const ticket = this.#parts.queue.enter({
      budgets: this.#upstream.budgets,
      mostCost: mostOf(this.#upstream.price),
      dueAtMs: slot.dueAtMs,
      endsAtPause: slot.origin === "confirm",
      granted: (lease) => this.#useLease(slot, lease),
      refused: (reason) => {
        this.#state = IDLE;
        this.#skipWaiting(reason);
        this.#fold({ kind: "paused" });
      },
    });
    this.#state = { kind: "waiting", slot, ticket };
  }

  #useLease(slot: WaitingSlot, lease: Lease): void {
    if (this.#probe.token?.isUsable() !== false) return this.#begin(slot, lease);
    lease.settle("unsent");
    // A second time only: a pace that is slower than tokens expire would go on like this for ever.
    if (slot.lostToken) this.#endWithoutToken(slot, EXPIRED_WAITING);
    else this.#waitForToken({ ...slot, lostToken: true });
  }

  #endWithoutToken(slot: Slot, failure: TokenFailure): void {
    this.#parts.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    const upstream = this.#upstream;
    const bounds = this.#parts.ledger.restraint(upstream.budgets);
    this.#finish(upstream, withoutToken(upstream, slot, failure, this.#parts), failure.isRefusal, bounds);
  }

  #begin(slot: Slot, lease: Lease): void {
    const upstream = this.#upstream;
    // While they are there: the answer may come after its budgets have left the config.
    const bounds = this.#parts.ledger.restraint(upstream.budgets);
    this.#parts.recorder.record(SLOT_STARTED);
    this.#wantedSinceMs = undefined;
    this.#state = { kind: "polling", ended: this.#poll(upstream, slot, lease, bounds) };
  }

  async #poll(upstream: Upstream, slot: Slot, lease: Lease, bounds: Bounds): Promise<void> {
    try {
      const probe = this.#probe;
      const isHeldBack = (): boolean => this.#isStopped || this.#isPaused();
      const parts = { ...this.#parts, isHeldBack, judging: this.#judging };
      const poll = await pollOnce(upstream, probe, slot, lease, parts, this.#cutOff.signal);
      if (poll === undefined) return this.#endUnsent();
      const { reason } = poll.outcome;
      probe.token?.judged(isTokenAccepted(poll));
      const { scope, forMs = 0 } = ADVICE.of(poll.said)?.pause ?? {};
      const isConfirmed = scope === "upstream" && forMs > 0 && reason === "server_error";
      this.#finish(upstream, poll, isConfirmed, bounds);
    } catch (error) {
      this.#parts.onBug(error);
    }
  }

  /** As if nobody had held it at that moment. */
  #endUnsent(): void {
    this.#state = IDLE;
    const cause = this.#isStopped ? "shutdown" : this.#isPaused() ? "backoff" : "missed";
    this.#skip(cause, 1, "started");
    // What failed before a pause is not confirmed by what fails after it.
    if (cause === "backoff") this.#fold({ kind: "paused" });
  }

  #finish(upstream: Upstream, poll: Poll, isConfirmed: boolean, { maxPauseMs, blindAfterMs }: Bounds): void {
    this.#state = IDLE;
    this.#owedSinceMs = this.#parts.clock.wallNow();
    this.#parts.recorder.record({ kind: "polled", poll });
    const advice = ADVICE.of(poll.said);
    if (advice !== undefined) {
      const bounded = lookingAgain(advice, blindAfterMs);
      const shared = this.#parts.resourceLimits?.share(upstream, bounded) ?? bounded;
      this.#applyAdvice(upstream.budgets, shared, maxPauseMs);
    }
    const { clock, ledger } = this.#parts;
    const endedMs = clock.now();
    const sentMs = endedMs - poll.durationMs;
    const { outcome, degraded: isDegraded } = poll;
    const { confirmsInMs, looksAgainInMs } = this.#fold(
      { kind: "polled", outcome, isDegraded, isConfirmed, sentMs, endedMs },
      poll,
    );
    // Whoever refused us and said when is not asked before: the first slot after that confirms.
    const furtherInMs = confirmsInMs ?? looksAgainInMs;
    if (furtherInMs === undefined || this.#isStopped || this.#isPaused()) return;
    const afterMs = Math.max(ledger.restraint(this.#upstream.budgets).paceGapMs, furtherInMs);
    if (confirmsInMs === undefined) void this.#lookAgain(afterMs).catch(this.#parts.onBug);
    else void this.#confirm(afterMs);
  }

  /** Also once it is stopped: the upstream may come back, or be polled by another process, before the pause is over. */
  #applyAdvice(budgets: readonly string[], advice: Advice, maxPauseMs: number): void {
    const { ledger, recorder } = this.#parts;
    const whose = ledger.applyAdvice(budgets, advice);
    const { pause } = advice;
    if (pause === undefined || pause.forMs <= 0) return;
    const requested = { kind: "pause_requested", pause, maxPauseMs } as const;
    if (whose === undefined) recorder.record({ ...requested, budgets });
    else {
      const because = [...new Set(whose.values())].map((why) => WHY[why]).join("; ");
      recorder.record({ ...requested, budgets: [...whose.keys()], because });
    }
    if (pause.scope === "upstream")
      this.#pauses.pause(this.#upstream.name, Math.min(pause.forMs, maxPauseMs));
  }

  /** Another upstream was told that a limit is spent that is also this one's. */
  pause(forMs: number): void {
    const { maxPauseMs } = this.#parts.ledger.restraint(this.#upstream.budgets);
    this.#pauses.pause(this.#upstream.name, Math.min(forMs, maxPauseMs));
    if (this.#state.kind === "polling" || this.#state.kind === "idle") return;
    if (this.#leave() !== undefined) this.#skip("backoff", 1, "waited");
    this.#fold({ kind: "paused" });
  }

  async #confirm(afterMs: number): Promise<void> {
    const cancel = new AbortController();
    this.#state = { kind: "confirming", cancel };
    const { clock } = this.#parts;
    await clock.sleep(afterMs, cancel.signal);
    if (cancel.signal.aborted) return;
    this.#state = IDLE;
    if (this.#isPaused()) this.#fold({ kind: "paused" });
    else this.slot("confirm", clock.now());
  }

  /** While it is down, with what nobody else waits for: where there is no room for a look, it is none, and no slot. */
  async #lookAgain(afterMs: number): Promise<void> {
    const { clock, ledger, queue, recorder, looksOf } = this.#parts;
    if (this.#looks >= (looksOf?.(this.#upstream.name) ?? 0)) return;
    const cancel = new AbortController();
    this.#state = { kind: "confirming", cancel };
    for (;;) {
      await clock.sleep(afterMs, cancel.signal);
      if (cancel.signal.aborted) return;
      const { budgets, schedule, timeoutMs } = this.#upstream;
      const nextSlotMs = (this.#scheduledAtMs ?? Number.NEGATIVE_INFINITY) + schedule.longestGapMs;
      const { isYielding, isQuotaSpent } = ledger.restraint(budgets);
      const isHeldBack = this.#isPaused() || isYielding || isQuotaSpent || ledger.isLowered(budgets);
      const isLate = clock.now() + timeoutMs >= nextSlotMs;
      if (isLate || isHeldBack) break;
      const lease = this.#probe.token?.isUsable() === false ? undefined : await queue.takeFree(budgets);
      if (lease === undefined) continue;
      if (cancel.signal.aborted) return lease.settle("unsent");
      this.#looks += 1;
      recorder.record(SLOT_WAITING);
      return this.#begin({ origin: "again", atMs: clock.now() }, lease);
    }
    this.#state = IDLE;
  }

  /** Not to be asked of one that is stopped: it may be on budgets that nobody knows any more. */
  #isPaused(): boolean {
    const { ledger, clock } = this.#parts;
    const { pausedUntilMs } = ledger.restraint(this.#upstream.budgets);
    return Math.max(pausedUntilMs, this.pausedUntilMs) > clock.now();
  }

  #skipWaiting({ cause, budget }: WaitReason): void {
    this.#skip(cause, 1, "waited", this.#upstream.budgets.length === 1 ? undefined : budget);
  }

  /** Finds which of several budgets holds a slot back; undefined if there is one only, or none of them does. */
  #holderOf(cause: SkipCause): string | undefined {
    const { budgets, price } = this.#upstream;
    if (budgets.length === 1) return undefined;
    const nowMs = this.#parts.clock.now();
    return budgets.find((budget) => {
      const restraint = this.#parts.ledger.restraint([budget], mostOf(price));
      return screenSlot(restraint, Number.NEGATIVE_INFINITY, 0, nowMs).skip === cause;
    });
  }

  #skip(cause: SkipCause, count: number, had?: "waited" | "started", budget?: string): void {
    if (ASKED_FOR.has(cause)) this.#owedSinceMs = this.#parts.clock.wallNow();
    this.#parts.recorder.record({ kind: "slots_skipped", cause, count, had, budget });
    this.#fold({ kind: "skipped", cause, count });
  }

  /** Returns when a further poll is wanted. */
  #fold(event: HealthEvent, poll?: Poll): HealthFold {
    const from = this.#health.state;
    const { confirm: polls, confirmOverMs: overMs } = this.#upstream;
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

/** Undefined where the answer does not tell: who is overloaded, throttles us or is a wall may not have looked at it. */
function isTokenAccepted({ outcome: { kind, reason } }: Poll): boolean | undefined {
  if (reason === "unauthorized") return false;
  return kind === "ok" || reason === "assertion" ? true : undefined;
}

/** A lease of other budgets, or for another cost, does not cover its next request. */
function leaseWantedBy({ budgets, price }: Upstream): string {
  return `${budgets.join(" ")} ${mostOf(price)}`;
}
