import { Evidence, Incidents, isUnseen, type Incident } from "./incidents.ts";
import { HINDSIGHT } from "./own-network.ts";
import { Tracks } from "./tracks.ts";
import { SKIPS } from "../../kernel/exchange/outcome.ts";
import { type Schedule, slotAfter } from "../../kernel/schedule/schedule.ts";
import { SLOTS_UNTIL_UNKNOWN } from "../../kernel/poll/health.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { PollRing } from "./poll-ring.ts";
import type { PollEvent, Recorder } from "../../kernel/poll/ports.ts";
import type { Field, Fields } from "../../kernel/text/field.ts";
import { RollingCounts } from "./rolling-counts.ts";
import type { RestoredUpstream } from "./state.ts";
import { FAILURES_KEPT, POLLS_KEPT, pollStatusOf, type PollStatus, type SkipCount } from "./kept-poll.ts";
import { availabilityOf, type AvailabilityWindow, type Missed, missedIn } from "./availability.ts";
import {
  type Columns,
  columnsOfBuckets,
  type LatencyQuantiles,
  latencyQuantiles,
  type Range,
} from "./timeline.ts";
import { MINUTE_MS, HOUR_MS } from "../../kernel/time/duration.ts";

/** Availability is counted in whole minutes and hours. */
export const MINUTES_KEPT = 60;
export const HOURS_KEPT = 720;

const WINDOWS_MS = [HOUR_MS, 24 * HOUR_MS, HOURS_KEPT * HOUR_MS] as const;

/** Large, and handed on as it is. */
export type Kept = {
  readonly tracks: Tracks;
  readonly byMinute: RollingCounts;
  readonly byHour: RollingCounts;
};

/** A feature takes from each poll what it remembers of an upstream. */
export type Follower = (poll: Poll, history: History) => void;

export function recorderOf(history: History, followers: readonly Follower[]): Recorder {
  return {
    record(event) {
      if (event.kind === "polled") for (const follow of followers) follow(event.poll, history);
    },
  };
}

/** What the page of one upstream shows: its last polls, its failures for longer, its incidents. Bounded. */
export class History implements Recorder {
  readonly #polls: PollRing;
  #failures: PollStatus[];
  readonly #incidents: Incidents;
  /** Of the newest incident, or of one that may come. */
  readonly evidence: Evidence;
  readonly #byMinute: RollingCounts;
  readonly #byHour: RollingCounts;
  /** By cause and budget; undefined where none were, as mostly: an empty map takes 200 bytes. */
  #skippedSincePoll: Map<string, SkipCount> | undefined;
  readonly upstream: string;
  readonly startedAtMs: number;
  readonly tracks: Tracks;
  /** Whatever features remember of the answers, by their names. */
  remembered: Fields = {};
  /** Of the present config; undefined where it is not polled. */
  schedule: Schedule | undefined;
  /** The poll that told something of it last counts as a look until then, by the schedules of that time. Wall clock. */
  knownUntilMs: number;
  readonly #sinceBootMs: (() => number) | undefined;
  /** When a poll told something of it last. */
  #seenBootMs = 0;

  /**
   * `kept` is newer than what was restored; `sinceMs` is when the health with which it begins was reached. Between two polls
   * it believes `sinceBootMs`: the wall clock may be set.
   */
  constructor(
    upstream: string,
    startedAtMs: number,
    restored?: Partial<RestoredUpstream>,
    kept?: Kept,
    sinceMs: number = startedAtMs,
    sinceBootMs?: () => number,
  ) {
    this.#sinceBootMs = sinceBootMs;
    this.#polls = new PollRing(POLLS_KEPT, restored?.polls);
    this.#failures = (restored?.failures ?? []).slice(-FAILURES_KEPT);
    this.#incidents = new Incidents(upstream, restored?.incidents, sinceMs);
    this.evidence = new Evidence(restored?.evidence);
    this.#byMinute = kept?.byMinute ?? new RollingCounts(MINUTE_MS, MINUTES_KEPT, restored?.minutes);
    this.#byHour = kept?.byHour ?? new RollingCounts(HOUR_MS, HOURS_KEPT, restored?.hours);
    this.upstream = upstream;
    this.startedAtMs = startedAtMs;
    this.knownUntilMs = restored?.knownUntilMs ?? 0;
    this.tracks = kept?.tracks ?? new Tracks(restored?.values);
  }

  record(event: PollEvent): void {
    switch (event.kind) {
      case "slot_waiting":
      case "slot_started":
      case "pause_requested":
      case "refused":
        return;
      case "slots_skipped": {
        const { cause, budget, count } = event;
        const { isAskedFor, keepsHealth } = SKIPS[cause];
        // Its state is known by what it said.
        if (isAskedFor && keepsHealth) this.#isKnownFor(count, this.knownUntilMs);
        const key = budget === undefined ? cause : `${cause} ${budget}`;
        const skipped = (this.#skippedSincePoll ??= new Map());
        const before = skipped.get(key)?.count ?? 0;
        const held = budget === undefined ? {} : { budget };
        skipped.set(key, { cause, ...held, count: before + count });
        return;
      }
      case "polled":
        this.#polled(event.poll);
        return;
      case "judged":
        this.#judged(event.poll, event.watchedMs);
        return;
      case "health_changed":
        this.#incidents.healthChanged(event);
        return;
      case "unwatched":
        this.#incidents.unwatched(this.lastPoll?.atMs);
        return;
      default:
        event satisfies never;
    }
  }

  /** The newest last. */
  get lastPolls(): readonly PollStatus[] {
    const failures = new Map(this.#failures.map((failure) => [failure.id, failure]));
    return this.#polls.all.map((poll) => failures.get(poll.id) ?? poll);
  }

  /** Cheaper than the last of all of them, which are sixty new objects. */
  get lastPoll(): PollStatus | undefined {
    const [poll, failure] = [this.#polls.newest, this.#failures.at(-1)];
    return failure !== undefined && failure.id === poll?.id ? failure : poll;
  }

  /** The newest last. They stay longer than successes of the same age. */
  get lastFailures(): readonly PollStatus[] {
    return this.#failures;
  }

  get sinceMs(): number {
    return this.#incidents.sinceMs;
  }

  get incidents(): readonly Incident[] {
    return this.#incidents.all;
  }

  get newestIncident(): Incident | undefined {
    return this.#incidents.newest;
  }

  /** Only the causes that were met. */
  get skippedSincePoll(): readonly SkipCount[] {
    return [...(this.#skippedSincePoll?.values() ?? [])];
  }

  /** For a history that goes on with it. */
  get kept(): Kept {
    return { tracks: this.tracks, byMinute: this.#byMinute, byHour: this.#byHour };
  }

  get latency(): LatencyQuantiles | undefined {
    return latencyQuantiles(this.#polls.okDurationsMs);
  }

  availability(nowMs: number): readonly AvailabilityWindow[] {
    return WINDOWS_MS.map((windowMs) => {
      const counts = windowMs === HOUR_MS ? this.#byMinute : this.#byHour;
      return availabilityOf(windowMs, counts.within(windowMs, nowMs));
    });
  }

  missedLastHour(objective: number, nowMs: number): readonly Missed[] {
    const counts = this.#byMinute.within(HOUR_MS, nowMs);
    return missedIn(availabilityOf(HOUR_MS, counts), counts, objective);
  }

  /** In minutes or hours. Single polls of a day are only in the state file. */
  columns({ lengthMs, columnMs }: Range, nowMs: number): Columns {
    const [counts, bucketMs] =
      lengthMs <= HOUR_MS ? [this.#byMinute, MINUTE_MS] : ([this.#byHour, HOUR_MS] as const);
    const columns = columnsOfBuckets(counts.bucketsFrom(nowMs - lengthMs), columnMs / bucketMs);
    return { columnMs: Math.max(columnMs, bucketMs), columns, areQuantiles: false };
  }

  remember<Content>(field: Field<Content>, content: Content | undefined): void {
    if (field.of(this.remembered) === content) return;
    this.remembered = { ...this.remembered, [field.name]: content };
  }

  /** Where somebody still looks, the slots of another schedule count from now on: no slot of the former one comes. */
  reschedule(schedule: Schedule, wallMs: number): void {
    const isAnother = this.schedule !== undefined && this.schedule.expression !== schedule.expression;
    this.schedule = schedule;
    const nowMs = this.#sinceSeen(wallMs);
    if (!isAnother || nowMs >= this.knownUntilMs) return;
    this.knownUntilMs = Math.max(this.knownUntilMs, slotAfter(schedule, nowMs, SLOTS_UNTIL_UNKNOWN));
  }

  #polled(poll: Poll): void {
    const isFirst = this.#incidents.seenAtMs === undefined;
    const wasUnseen = !isFirst && isUnseen(this.knownUntilMs, this.#sinceSeen(poll.endedAtMs));
    if (poll.outcome.kind !== "ours") {
      this.#isKnownFor(SLOTS_UNTIL_UNKNOWN, poll.endedAtMs);
      this.#seenBootMs = this.#sinceBootMs?.() ?? poll.endedAtMs;
    }
    this.#skippedSincePoll = undefined;
    const status = pollStatusOf(poll);
    this.#polls.add(status);
    if (poll.outcome.kind !== "ok") keep(this.#failures, status, FAILURES_KEPT);
    const unseen = this.#incidents.polled(poll.outcome, poll.endedAtMs, wasUnseen);
    if (unseen !== undefined) this.evidence.endUnseen(unseen);
    this.evidence.polled(status);
  }

  /** Now, as if the wall clock had not been set since a poll told something last. */
  #sinceSeen(wallMs: number): number {
    const { seenAtMs } = this.#incidents;
    if (seenAtMs === undefined) return wallMs;
    return seenAtMs + (this.#sinceBootMs?.() ?? wallMs) - this.#seenBootMs;
  }

  #isKnownFor(slots: number, fromMs: number): void {
    this.knownUntilMs = this.schedule === undefined ? Infinity : slotAfter(this.schedule, fromMs, slots);
  }

  #judged(poll: Poll, watchedMs: number): void {
    const { id, outcome, endedAtMs } = poll;
    const { kind, reason } = outcome;
    this.#incidents.judged(outcome, endedAtMs, HINDSIGHT.of(poll.said));
    this.#byMinute.add(poll, watchedMs);
    this.#byHour.add(poll, watchedMs);
    if (reason === "offline") {
      this.#polls.markOffline(id);
      this.evidence.wasOurs(id);
      this.#failures = this.#failures.map((failure) =>
        failure.id === id ? { ...failure, outcome: kind, reason } : failure,
      );
    }
  }
}

function keep<T>(list: T[], entry: T, most: number): void {
  list.push(entry);
  if (list.length > most) list.shift();
}
