import type { Slots } from "../schedule/slots.ts";
import type { Trigger, Triggers } from "../schedule/triggers.ts";
import type { Clock } from "../time/clock.ts";
import { type Moment, momentOf, mostSince } from "../time/moment.ts";
import { slotsOf, type Schedule } from "../schedule/schedule.ts";
import { type Spreadable, spreadWithinSecond } from "./spread.ts";

export type TimetableEvents = {
  /** `atMs` is monotonic. */
  onSlot(name: string, atMs: number): void;
  onMissed(name: string, count: number): void;
  /** One of these threw it: the others of its second still get their slots. */
  onBug(error: unknown): void;
};

/** All upstreams with the same expression: one trigger, spread within its second. */
type Group = {
  readonly slots: Slots;
  readonly trigger: Trigger;
  /** In the order of their offsets. */
  offsetsMs: ReadonlyMap<string, number>;
  /** When each member had its last slot, or joined: slots are counted from there. */
  readonly anchors: Map<string, Moment>;
  lastTick: Moment;
  replannedAtMs: number;
};

const WATCHDOG_EVERY_MS = 1_000;
/** A wall clock that moves this much against the monotonic one was stepped, not slewed. */
const STEP_MS = 500;
/** So late, a watchdog was not merely waiting for others' work. */
const STOOD_STILL_MS = 1_000;
/** A trigger that is this late sleeps by a clock that was set back. */
const OVERDUE_MS = 1_500;

/**
 * Turns triggers into slots. Triggers sleep by the wall clock, so a watchdog on the monotonic clock replans them after
 * a step. Missed slots are counted by the monotonic gap, never by the wall clock's.
 */
export class Timetable {
  readonly #clock: Clock;
  readonly #triggers: Triggers;
  readonly #events: TimetableEvents;
  readonly #groups = new Map<string, Group>();
  readonly #ended = new AbortController();
  #skewMs: number;
  #hasWatchdog = false;
  #watchedAt: Moment;
  /** Monotonic. */
  #stoodStillUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, triggers: Triggers, events: TimetableEvents) {
    this.#clock = clock;
    this.#triggers = triggers;
    this.#events = events;
    this.#skewMs = clock.wallNow() - clock.now();
    this.#watchedAt = momentOf(clock);
  }

  /** Leaves the triggers of expressions that stay alone. */
  set(entries: readonly Spreadable[]): void {
    if (!this.#hasWatchdog) void this.#runWatchdog();
    this.#hasWatchdog = true;
    const byExpression = Map.groupBy(entries, (entry) => entry.schedule.expression);
    for (const [expression, group] of this.#groups) {
      if (byExpression.has(expression)) continue;
      endGroup(group);
      this.#groups.delete(expression);
    }
    for (const [expression, members] of byExpression) {
      const schedule = members[0]?.schedule;
      if (schedule === undefined) continue;
      const group = this.#groups.get(expression) ?? this.#startGroup(schedule);
      this.#setMembers(group, members);
    }
  }

  /** Wall clock; undefined for an unknown name. */
  nextSlotAtMs(name: string, schedule: Schedule): number | undefined {
    const group = this.#groups.get(schedule.expression);
    const offsetMs = group?.offsetsMs.get(name);
    if (group === undefined || offsetMs === undefined) return undefined;
    return group.slots.next(this.#clock.wallNow() - offsetMs) + offsetMs;
  }

  /** The watchdog was due and did not come, by the clock that says longer: one of them stands still with the machine. */
  stoodStill(sinceMs: number): boolean {
    if (!this.#ended.signal.aborted) this.#watch();
    return this.#stoodStillUntilMs >= sinceMs;
  }

  stop(): void {
    this.#ended.abort();
    for (const group of this.#groups.values()) endGroup(group);
    this.#groups.clear();
  }

  #startGroup(schedule: Schedule): Group {
    const trigger = this.#triggers.start(schedule, (scheduledAtMs) => void this.#tick(group, scheduledAtMs));
    const group: Group = {
      slots: slotsOf(schedule),
      trigger,
      offsetsMs: new Map(),
      anchors: new Map(),
      lastTick: momentOf(this.#clock),
      replannedAtMs: Number.NEGATIVE_INFINITY,
    };
    this.#groups.set(schedule.expression, group);
    return group;
  }

  #setMembers(group: Group, members: readonly Spreadable[]): void {
    group.offsetsMs = spreadWithinSecond(members);
    for (const name of group.anchors.keys()) if (!group.offsetsMs.has(name)) group.anchors.delete(name);
    for (const { name } of members)
      if (!group.anchors.has(name)) group.anchors.set(name, momentOf(this.#clock));
  }

  async #tick(group: Group, scheduledAtMs: number): Promise<void> {
    const now = momentOf(this.#clock);
    group.lastTick = { wallMs: scheduledAtMs, nowMs: now.nowMs };
    // A clock step since the planning must not move the start of the second far away.
    const lateMs = Math.min(Math.max(0, now.wallMs - scheduledAtMs), WATCHDOG_EVERY_MS);
    const startMs = now.nowMs - lateMs;
    for (const [name, offsetMs] of group.offsetsMs) {
      const waitMs = startMs + offsetMs - this.#clock.now();
      // Less than a second: at the end of a group it need not be cut short.
      if (waitMs > 0) await this.#clock.sleep(waitMs);
      if (group.anchors.size === 0) return;
      if (!group.anchors.has(name)) continue;
      try {
        this.#countMissed(group, name, { wallMs: scheduledAtMs, nowMs: startMs });
        this.#events.onSlot(name, startMs + offsetMs);
      } catch (error) {
        this.#events.onBug(error);
      }
    }
  }

  #countMissed(group: Group, name: string, slot: Moment): void {
    const past = group.anchors.get(name);
    group.anchors.set(name, slot);
    if (past === undefined) return;
    const elapsedMs = slot.nowMs - past.nowMs;
    const due = group.slots.countBetween(past.wallMs, past.wallMs + elapsedMs + STEP_MS);
    if (due > 1) this.#events.onMissed(name, due - 1);
  }

  #watch(): Moment {
    const now = momentOf(this.#clock);
    const isLate = mostSince(this.#watchedAt, now) > WATCHDOG_EVERY_MS + STOOD_STILL_MS;
    if (isLate) this.#stoodStillUntilMs = now.nowMs;
    this.#watchedAt = now;
    return now;
  }

  async #runWatchdog(): Promise<void> {
    const { signal } = this.#ended;
    this.#watchedAt = momentOf(this.#clock);
    while (!signal.aborted) {
      await this.#clock.sleep(WATCHDOG_EVERY_MS, signal);
      const now = this.#watch();
      const skewMs = now.wallMs - now.nowMs;
      const wasStepped = Math.abs(skewMs - this.#skewMs) > STEP_MS;
      this.#skewMs = skewMs;
      for (const group of this.#groups.values()) {
        if (wasStepped || isOverdue(group, now.nowMs)) {
          group.replannedAtMs = now.nowMs;
          group.trigger.replan();
        }
      }
    }
  }
}

function isOverdue(group: Group, nowMs: number): boolean {
  if (nowMs - group.replannedAtMs < OVERDUE_MS) return false;
  const gapMs = group.slots.next(group.lastTick.wallMs) - group.lastTick.wallMs;
  return nowMs > group.lastTick.nowMs + gapMs + OVERDUE_MS;
}

/** Nobody is in it any more: a tick that waits within its second ends too. */
function endGroup({ anchors, trigger }: Group): void {
  anchors.clear();
  trigger.stop();
}
