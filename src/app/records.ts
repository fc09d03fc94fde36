import type { Beside } from "./features/polling.ts";
import { FACTS, FOLLOWERS, pollLogsOf } from "./features/shown.ts";
import { spentBy } from "../features/quota/cost.ts";
import type { Hints } from "../features/hints/hints.ts";
import { YIELD_KEEPS_ONE_IN } from "../features/hints/signals.ts";
import { History, type Kept, recorderOf } from "../features/history/history.ts";
import {
  isUnseen,
  type SeenBefore,
  seenElsewhere,
  seenLast,
  seenUntil,
} from "../features/history/incidents.ts";
import { POLLS_KEPT } from "../features/history/kept-poll.ts";
import { OwnNetwork } from "../features/history/own-network.ts";
import { packedPolls, PollRing } from "../features/history/poll-ring.ts";
import type { RestoredUpstream, StateStore } from "../features/history/state.ts";
import { UpstreamRecord } from "../features/history/upstream-record.ts";
import { isWatching } from "../features/history/watched.ts";
import { usedUpOf } from "../features/status/facts.ts";
import { type Logger, LogRecorder } from "../features/log/logger.ts";
import type { Quotas } from "../features/quota/quotas.ts";
import type { Upstream } from "../kernel/config/config.ts";
import { type Health, SLOTS_UNTIL_UNKNOWN, UNKNOWN_HEALTH } from "../kernel/poll/health.ts";
import type { Poll } from "../kernel/poll/poll.ts";
import type { Recorder } from "../kernel/poll/ports.ts";
import { slotAfter } from "../kernel/schedule/schedule.ts";
import { keepNewest } from "../platform/remembered.ts";
import type { Clock } from "../kernel/time/clock.ts";

export type RecordsParts = {
  readonly clock: Clock;
  readonly sinceBootMs: () => number;
  readonly log: Logger;
  readonly budgets: { readonly hints: Hints; readonly quotas: Quotas };
  readonly store: Pick<StateStore, "restored" | "inAnIncident" | "recorderOf"> | undefined;
  readonly services?: readonly Beside[];
  /** The leader before this one left how it saw those upstreams that were not well, at that time. Wall clock. */
  readonly before?: { readonly atMs: number; readonly seen: ReadonlyMap<string, SeenBefore> } | undefined;
  /** Aborts when the app stops. */
  readonly stopping: AbortSignal;
};

const SETTLE_EVERY_MS = 5_000;
/** A month of hours takes 32 kB, a week of one value ten, and fifty incidents as much. */
const MOST_GONE = 500;

/** The upstream is not polled here now. */
type Gone = Pick<RestoredUpstream, "incidents" | "polls" | "evidence" | "knownUntilMs"> & {
  readonly kept: Kept;
};

/** All that is known of each upstream by its polls, and by those who polled it before. */
export class Records {
  readonly #parts: RecordsParts;
  /** An upstream has its record from its first poll until it leaves the config. */
  readonly #records = new Map<string, UpstreamRecord>();
  /** An upstream that left may come back, and then goes on as its rows in the state file do. The latest is last. */
  readonly #gone = new Map<string, Gone>();
  /** Whether it is ours that fails. */
  readonly network: OwnNetwork = new OwnNetwork();
  #isSettling = false;
  /** How an earlier process saw upstreams that have not been polled here since. */
  readonly #seenBefore: Map<string, SeenBefore>;
  /** The config that runs has these. */
  #upstreams: ReadonlyMap<string, Upstream> = new Map();

  constructor(configured: readonly Upstream[], parts: RecordsParts) {
    this.#parts = parts;
    this.#seenBefore = new Map(parts.before?.seen);
    const { clock, store } = parts;
    const names = new Set(configured.map(({ name }) => name));
    // What left the config while nothing ran goes as by a reload, with the first `keep`.
    for (const name of store?.inAnIncident ?? []) {
      if (names.has(name)) continue;
      const history = new History(name, clock.wallNow(), store?.restored(name));
      this.#records.set(name, new UpstreamRecord(history, this.#receiversOf(name, history)));
    }
  }

  of(upstream: string): UpstreamRecord | undefined {
    return this.#records.get(upstream);
  }

  /** The same for the same upstream, across reloads. */
  open(upstream: Upstream): UpstreamRecord {
    const { clock, store } = this.#parts;
    const { name } = upstream;
    const known = this.#records.get(name);
    if (known !== undefined) return known;
    const gone = this.#gone.get(name);
    this.#gone.delete(name);
    const restored = gone ?? store?.restored(name);
    const nowMs = clock.wallNow();
    const own = restored?.incidents ?? [];
    const polls = restored === undefined ? [] : new PollRing(POLLS_KEPT, restored.polls).all;
    const ownLastMs = polls.at(-1)?.atMs;
    const wasElsewhere = gone === undefined && (this.#parts.before?.atMs ?? 0) > (ownLastMs ?? 0);
    const elsewhere = wasElsewhere ? this.#seenBefore.get(name) : undefined;
    const before = wasElsewhere ? elsewhere : restored && seenLast({ ...restored, polls });
    if (before === undefined) this.#seenBefore.delete(name);
    else this.#seenBefore.set(name, before);
    const seen = elsewhere === undefined ? own : seenElsewhere(name, own, elsewhere);
    // Where another process saw that it was over, nobody knows since when.
    const knownUntilMs = (wasElsewhere ? elsewhere : restored)?.knownUntilMs ?? 0;
    const incidents = isUnseen(knownUntilMs, nowMs)
      ? seenUntil(seen, before?.lastPollAtMs ?? ownLastMs)
      : seen;
    const sinceMs = this.healthBefore(name) && before?.sinceMs;
    const [[last], [newest]] = [own, incidents];
    // The evidence of one that is over by then is none of the next.
    const goesOn = newest?.endedAtMs === undefined && newest?.startedAtMs === last?.startedAtMs;
    const left = { ...restored, incidents, knownUntilMs, ...(!goesOn && { evidence: [] }) };
    const history = new History(name, nowMs, left, gone?.kept, sinceMs, this.#parts.sinceBootMs);
    const record = new UpstreamRecord(history, this.#receiversOf(name, history), (poll, judged) =>
      this.#judge(name, poll, judged),
    );
    this.network.watch(upstream, nowMs);
    this.#records.set(name, record);
    return record;
  }

  /** What nobody has looked at for long begins as unknown. */
  healthBefore(upstream: string): Health | undefined {
    const before = this.#seenBefore.get(upstream);
    if (before === undefined || this.#parts.clock.wallNow() > before.knownUntilMs) return undefined;
    return { ...UNKNOWN_HEALTH, state: before.state, isUp: before.isUp };
  }

  /** Of these upstreams, which are all that are polled from now on; of the others it is remembered how they left. */
  keep(upstreams: readonly Upstream[]): void {
    this.#upstreams = new Map(upstreams.map((upstream) => [upstream.name, upstream]));
    const nowMs = this.#parts.clock.wallNow();
    for (const { name, schedule } of upstreams) this.#records.get(name)?.history.reschedule(schedule, nowMs);
    for (const [name, record] of this.#records) {
      if (this.#upstreams.has(name)) continue;
      this.#records.delete(name);
      this.#seenBefore.delete(name);
      record.record({ kind: "unwatched" });
      const { incidents, lastPolls, lastPoll, knownUntilMs, kept } = record.history;
      const lastWatching = lastPolls.findLastIndex(({ outcome }) => isWatching(outcome));
      const polls = packedPolls(
        lastPolls.filter((_, place) => place === lastWatching || place === lastPolls.length - 1),
      );
      const [newest] = incidents;
      const isOpen = newest !== undefined && newest.endedAtMs === undefined;
      const evidence = isOpen ? record.history.evidence.of(newest) : [];
      if (lastPoll !== undefined || incidents.length > 0 || !kept.tracks.isEmpty)
        keepNewest(this.#gone, name, { incidents, polls, evidence, knownUntilMs, kept }, MOST_GONE);
    }
    this.network.keep(upstreams);
  }

  /** What the next leader must know of it: undefined where it is well, or nobody knows. */
  seenOf({ name, budgets, schedule }: Upstream, health: Health): SeenBefore | undefined {
    const { clock } = this.#parts;
    const { hints } = this.#parts.budgets;
    const history = this.#records.get(name)?.history;
    if (history === undefined) return undefined;
    const newest = history.newestIncident;
    const incident = newest?.endedAtMs === undefined ? newest : undefined;
    if (incident === undefined && (health.state === "up" || health.state === "unknown")) return undefined;
    const lastPollAtMs = history.lastPoll?.atMs ?? this.#seenBefore.get(name)?.lastPollAtMs;
    // Who is asked for silence, or for few polls, does not know less by that.
    const isYielding = hints.yieldingOf(budgets, clock.now()) !== undefined;
    const slots = SLOTS_UNTIL_UNKNOWN * (isYielding ? YIELD_KEEPS_ONE_IN : 1);
    const pausedUntilMs = Math.max(hints.upstreamPausedUntilMs(name), hints.pausedUntilMs(budgets));
    const askedUntilMs = Math.max(lastPollAtMs ?? 0, pausedUntilMs - clock.now() + clock.wallNow());
    return {
      state: health.state,
      isUp: health.isUp,
      sinceMs: history.sinceMs,
      lastPollAtMs,
      knownUntilMs: slotAfter(schedule, askedUntilMs, slots),
      incident,
    };
  }

  #judge(upstream: string, poll: Poll, judged: (poll: Poll) => void): void {
    this.network.judge(upstream, poll, judged);
    if (this.network.isWaiting && !this.#isSettling) void this.#settle();
  }

  /** A failure that only another upstream could explain is counted though none is polled. */
  async #settle(): Promise<void> {
    const { clock, stopping } = this.#parts;
    this.#isSettling = true;
    while (this.network.isWaiting && !stopping.aborted) {
      await clock.sleep(SETTLE_EVERY_MS, stopping);
      this.network.settle(clock.wallNow());
    }
    this.#isSettling = false;
  }

  /** All that hear of every event of an upstream, after its metrics and its history. A new receiver is one line here. */
  #receiversOf(name: string, history: History): readonly Recorder[] {
    const { clock, log, store, services = [] } = this.#parts;
    return [
      recorderOf(history, FOLLOWERS),
      new LogRecorder(log, name, clock, (budget) => this.#usedUp(name, budget), pollLogsOf()),
      ...services.flatMap((service) => service.recorderOf?.(name) ?? []),
      ...(store === undefined ? [] : [store.recorderOf(name, history, spentBy)]),
    ];
  }

  /** Why nothing is left of its budgets, or of this one, for a poll of this upstream. */
  #usedUp(name: string, budget: string | undefined): string | undefined {
    const { clock, budgets } = this.#parts;
    return usedUpOf(this.#upstreams.get(name), budget, FACTS, { ...budgets, nowMs: clock.wallNow() });
  }
}
