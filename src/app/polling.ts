import { totalmem } from "node:os";
import {
  closeProbes,
  type FaultOf,
  openProbes,
  type ProbeParts,
  type Probes,
  type TransportParts,
  upstreamsToOpen,
} from "./probes.ts";
import { COUNTERS } from "./features/metrics.ts";
import { judgingOf } from "./judging.ts";
import { LargeAnswers } from "./large-answers.ts";
import { AppTokens } from "../features/auth/tokens.ts";
import type { UpstreamPauses } from "../kernel/budget/pauses.ts";
import { BodyMemory } from "../transport/body-memory.ts";
import { bytesForBodies, bytesForWaiting } from "../kernel/exchange/bounds.ts";
import type { Ledger } from "../kernel/budget/ledger.ts";
import type { Quotas } from "../features/quota/quotas.ts";
import type { Config, Upstream } from "../kernel/config/config.ts";
import type { Opened } from "../kernel/config/opened.ts";
import { mostOf } from "../features/money/price.ts";
import { YIELD_KEEPS_ONE_IN } from "../features/hints/restraint.ts";
import { type Health, SLOTS_UNTIL_UNKNOWN, UNKNOWN_HEALTH } from "../kernel/poll/health.ts";
import type { Poll } from "../kernel/poll/poll.ts";
import type { Recorder } from "../kernel/poll/ports.ts";
import { keepNewest } from "../kernel/text/remembered.ts";
import { usedUpWords } from "../features/status/credit-sentence.ts";
import { quotaStanding } from "../features/quota/standing.ts";
import type { Notifier } from "../features/notify/notifier.ts";
import { type Condition, Supervisor } from "../kernel/polling/supervisor.ts";
import { type Logger, LogRecorder } from "../features/log/logger.ts";
import { cronTriggers } from "../platform/node-cron.ts";
import { History, type Kept } from "../features/history/history.ts";
import { isWatching } from "../features/history/watched.ts";
import { type SeenBefore, seenElsewhere, seenLast, seenUntil } from "../features/history/incidents.ts";
import { OwnNetwork } from "../features/history/own-network.ts";
import { UpstreamRecord } from "../features/history/upstream-record.ts";
import type { RestoredUpstream, StateStore } from "../features/history/state.ts";

export type PollingParts = TransportParts & {
  readonly log: Logger;
  readonly ledger: Ledger;
  readonly pauses?: UpstreamPauses;
  readonly quotas?: Quotas;
  readonly store: Pick<StateStore, "restored" | "inAnIncident" | "recorderOf"> | undefined;
  readonly notifier?: Pick<Notifier, "recorderOf"> | undefined;
  /** The leader before this one left how it saw those upstreams that were not well, at that time. Wall clock. */
  readonly before?: { readonly atMs: number; readonly seen: ReadonlyMap<string, SeenBefore> } | undefined;
  /** Of the config that runs: how often an upstream may be looked at again between two slots, while it is down. */
  readonly looksOf?: (upstream: string) => number;
  /** Aborts when the app stops. */
  readonly stopping: AbortSignal;
  readonly onBug: (error: unknown) => void;
};

const TRY_AGAIN_MS = 5_000;
const SETTLE_EVERY_MS = 5_000;
/** A month of hours takes 32 kB, a week of one value ten, and fifty incidents as much. */
const MOST_GONE = 500;

/** Of an upstream that is not polled here now. */
type Gone = Pick<RestoredUpstream, "incidents" | "polls" | "evidence"> & { readonly kept: Kept };

/** Polls the upstreams of the config. */
export class AppPolling implements AsyncDisposable {
  readonly #parts: PollingParts;
  readonly #supervisor: Supervisor;
  readonly #tokens: AppTokens;
  /** An upstream has its record from its first poll until it leaves the config. */
  readonly #records = new Map<string, UpstreamRecord>();
  /** An upstream that left may come back, and then goes on as its rows in the state file do. The latest is last. */
  readonly #gone = new Map<string, Gone>();
  readonly #network = new OwnNetwork();
  #isSettling = false;
  readonly #memory = new BodyMemory(bytesForBodies(memoryOfProcess()), bytesForWaiting(memoryOfProcess()));
  readonly #largeAnswers: LargeAnswers;
  /** How an earlier process saw upstreams that have not been polled here since. */
  readonly #seenBefore: Map<string, SeenBefore>;
  #config: Config;
  /** The supervisor was given this one: without the upstreams whose keys cannot be read yet. */
  #applied: Config;
  /** Reloads come one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Nothing is polled until the first `apply`. */
  constructor(config: Config, parts: PollingParts) {
    this.#config = config;
    this.#applied = { ...config, upstreams: [] };
    this.#parts = parts;
    this.#seenBefore = new Map(parts.before?.seen);
    const { clock, ledger, pauses, log, looksOf, store, onBug } = parts;
    const configured = new Set(config.upstreams.map(({ name }) => name));
    // What left the config while nothing ran goes as by a reload, with the first `apply`.
    for (const name of store?.inAnIncident ?? []) {
      if (configured.has(name)) continue;
      const history = new History(name, clock.wallNow(), store?.restored(name));
      this.#records.set(name, new UpstreamRecord(history, this.#receiversOf(name, history)));
    }
    this.#largeAnswers = new LargeAnswers(clock);
    const life = clock.wallNow().toString(36);
    let polls = 0;
    this.#supervisor = new Supervisor({
      clock,
      ledger,
      pauses,
      triggers: cronTriggers(log),
      recorderOf: (upstream) => this.#countedRecordOf(upstream),
      healthOf: (upstream) => this.#healthBefore(upstream),
      judgingOf,
      ...(looksOf && { looksOf }),
      judgeLarge: this.#largeAnswers.judge,
      nextPollId: () => `${life}-${(polls += 1).toString(36)}`,
      onBug,
    });
    this.#tokens = new AppTokens({ ...parts, queue: this.#supervisor.queue });
  }

  healthOf(upstream: string): Condition["health"] {
    return this.#supervisor.healthOf(upstream);
  }

  /** Since then each of its slots is owed a poll. Undefined for one that is not polled here. Wall clock. */
  owedSinceMs(upstream: string): number | undefined {
    return this.#supervisor.owedSinceMs(upstream);
  }

  conditionOf(upstream: Upstream): Condition {
    return this.#supervisor.conditionOf(upstream);
  }

  recordOf(upstream: string): UpstreamRecord | undefined {
    return this.#records.get(upstream);
  }

  /** What the next leader must know of them: those that are not well, or are not known to be. */
  get seen(): ReadonlyMap<string, SeenBefore> {
    return new Map(
      this.#applied.upstreams.flatMap((upstream) => {
        const seen = this.#seenOf(upstream);
        return seen === undefined ? [] : [[upstream.name, seen] as const];
      }),
    );
  }

  get inFlight(): number {
    return this.#records.values().reduce((sum, { accounts }) => sum + accounts.inFlight, 0);
  }

  /** How many cannot be reached because we are offline; 0 while any answers. */
  offlineUpstreams(nowMs: number): number {
    return this.#network.unreachable(nowMs);
  }

  /** It failed, and the failure may be our own network's. */
  isUnsure(upstream: string): boolean {
    return this.#network.isSuspected(upstream);
  }

  exclusively<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Probes for what is new in this config. */
  async open(config: Config): Promise<Opened<Probes>> {
    const wanted = upstreamsToOpen(config, this.#applied);
    const { probes, faults } = await openProbes(wanted, this.#probeParts);
    if (faults.length === 0) return { kind: "opened", what: probes };
    await closeProbes(probes);
    this.#tokens.keep(this.#config.upstreams);
    return { kind: "refused", faults: faults.map(({ fault }) => fault) };
  }

  /** At once, with the probes that were opened for it. */
  apply(config: Config, probes: Probes): void {
    this.#config = config;
    const known = new Set(this.#applied.upstreams.map(({ name }) => name));
    const polled = config.upstreams.filter(({ name }) => known.has(name) || probes.has(name));
    this.#applied = { ...config, upstreams: polled };
    this.#supervisor.apply(this.#applied, probes);
    for (const { name, schedule } of polled) {
      const history = this.#records.get(name)?.history;
      if (history !== undefined) history.longestGapMs = schedule.longestGapMs;
    }
    this.#tokens.keep(config.upstreams);
    this.#dropRecords();
  }

  /** Polls all whose keys can be read. Whoever leads does not stand aside for one that cannot: it is tried again. */
  async begin(): Promise<void> {
    const wanted = upstreamsToOpen(this.#config, this.#applied);
    const { probes, faults } = await openProbes(wanted, this.#probeParts);
    if (this.#parts.stopping.aborted) return closeProbes(probes);
    this.apply(this.#config, probes);
    if (faults.length > 0) void this.#tryAgain(faults);
  }

  /** Polls in flight may end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    // A token in flight is of no use to anybody, while polls in flight may end.
    await Promise.all([this.#supervisor.drain(), this.#tokens[Symbol.asyncDispose]()]);
    this.#network.keep([]);
    await this.#largeAnswers[Symbol.asyncDispose]();
  }

  get #probeParts(): ProbeParts {
    return { ...this.#parts, memory: this.#memory, tokens: this.#tokens };
  }

  /** What its config asks for is counted from now on. */
  #countedRecordOf(upstream: Upstream): UpstreamRecord {
    const record = this.#keptRecordOf(upstream);
    record.accounts.count(upstream, COUNTERS);
    return record;
  }

  #keptRecordOf(upstream: Upstream): UpstreamRecord {
    const { clock, store } = this.#parts;
    const { name, schedule } = upstream;
    const known = this.#records.get(name);
    if (known !== undefined) return known;
    const gone = this.#gone.get(name);
    this.#gone.delete(name);
    const restored = gone ?? store?.restored(name);
    const nowMs = clock.wallNow();
    const own = restored?.incidents ?? [];
    const ownLastMs = restored?.polls.at(-1)?.atMs;
    const wasElsewhere = gone === undefined && (this.#parts.before?.atMs ?? 0) > (ownLastMs ?? 0);
    const elsewhere = wasElsewhere ? this.#seenBefore.get(name) : undefined;
    const before = wasElsewhere ? elsewhere : restored && seenLast(restored, schedule.longestGapMs);
    if (before === undefined) this.#seenBefore.delete(name);
    else this.#seenBefore.set(name, before);
    const incidents = seenUntil(
      elsewhere === undefined ? own : seenElsewhere(name, own, elsewhere),
      before?.lastPollAtMs ?? ownLastMs,
      // Another process saw that it was over, and nobody knows since when.
      wasElsewhere && elsewhere === undefined ? Infinity : nowMs,
      schedule.longestGapMs,
    );
    const sinceMs = this.#healthBefore(name) && before?.sinceMs;
    const [[last], [newest]] = [own, incidents];
    // The evidence of one that is over by then is none of the next.
    const goesOn = newest?.endedAtMs === undefined && newest?.startedAtMs === last?.startedAtMs;
    const left = { ...restored, incidents, ...(!goesOn && { evidence: [] }) };
    const history = new History(name, nowMs, left, gone?.kept, sinceMs);
    const record = new UpstreamRecord(history, this.#receiversOf(name, history), (poll, judged) =>
      this.#judge(name, poll, judged),
    );
    this.#network.watch(upstream, nowMs);
    this.#records.set(name, record);
    return record;
  }

  /** What nobody has looked at for long begins as unknown. */
  #healthBefore(upstream: string): Health | undefined {
    const before = this.#seenBefore.get(upstream);
    if (before === undefined || this.#parts.clock.wallNow() > before.knownUntilMs) return undefined;
    return { ...UNKNOWN_HEALTH, state: before.state, isUp: before.isUp };
  }

  #judge(upstream: string, poll: Poll, judged: (poll: Poll) => void): void {
    this.#network.judge(upstream, poll, judged);
    if (this.#network.isWaiting && !this.#isSettling) void this.#settle();
  }

  /** A failure that only another upstream could explain is counted though none is polled. */
  async #settle(): Promise<void> {
    const { clock, stopping } = this.#parts;
    this.#isSettling = true;
    while (this.#network.isWaiting && !stopping.aborted) {
      await clock.sleep(SETTLE_EVERY_MS, stopping);
      this.#network.settle(clock.wallNow());
    }
    this.#isSettling = false;
  }

  /** All that hear of every event of an upstream, after its metrics and its history. A new receiver is one line here. */
  #receiversOf(name: string, history: History): readonly Recorder[] {
    const { clock, log, store, notifier } = this.#parts;
    return [
      new LogRecorder(log, name, clock, (budget) => this.#usedUp(name, budget)),
      ...(notifier === undefined ? [] : [notifier.recorderOf(name)]),
      ...(store === undefined ? [] : [store.recorderOf(name, history)]),
    ];
  }

  /** Why nothing is left of its budgets, or of this one, for a poll of this upstream. */
  #usedUp(name: string, budget: string | undefined): string | undefined {
    const { quotas, clock } = this.#parts;
    const upstream = this.#config.upstreams.find((each) => each.name === name);
    if (quotas === undefined || upstream === undefined) return undefined;
    const { price, budgets } = upstream;
    const nowMs = clock.wallNow();
    const spend = { dearest: mostOf(price), currency: price?.currency };
    const words = (budget === undefined ? budgets : [budget]).flatMap((each) => [
      usedUpWords(quotaStanding(quotas, { budget: each, of: "money" }, spend, nowMs), nowMs),
      usedUpWords(quotaStanding(quotas, { budget: each, of: "requests" }, { dearest: 1 }, nowMs), nowMs),
    ]);
    return words.find((each) => each !== undefined);
  }

  #dropRecords(): void {
    const names = new Set(this.#applied.upstreams.map(({ name }) => name));
    for (const [name, record] of this.#records) {
      if (names.has(name)) continue;
      this.#records.delete(name);
      this.#seenBefore.delete(name);
      record.record({ kind: "unwatched" });
      const { incidents, lastPolls, lastPoll, kept } = record.history;
      const lastWatching = lastPolls.findLast(({ outcome }) => isWatching(outcome));
      const polls = [lastWatching, lastPoll].filter((poll) => poll !== undefined);
      const [newest] = incidents;
      const isOpen = newest !== undefined && newest.endedAtMs === undefined;
      const evidence = isOpen ? record.history.evidence.of(newest) : [];
      if (lastPoll !== undefined || incidents.length > 0 || !kept.values.isEmpty)
        keepNewest(this.#gone, name, { incidents, polls, evidence, kept }, MOST_GONE);
    }
    this.#network.keep(this.#applied.upstreams);
  }

  #seenOf(upstream: Upstream): SeenBefore | undefined {
    const { name, budgets, schedule } = upstream;
    const { clock, ledger } = this.#parts;
    const history = this.#records.get(name)?.history;
    if (history === undefined) return undefined;
    const { health, pausedUntilMs } = this.#supervisor.conditionOf(upstream);
    const newest = history.newestIncident;
    const incident = newest?.endedAtMs === undefined ? newest : undefined;
    if (incident === undefined && (health.state === "up" || health.state === "unknown")) return undefined;
    const restraint = ledger.restraint(budgets);
    const lastPollAtMs = history.lastPoll?.atMs ?? this.#seenBefore.get(name)?.lastPollAtMs;
    // Who is asked for silence, or for few polls, does not know less by that.
    const slots = SLOTS_UNTIL_UNKNOWN * (restraint.isYielding ? YIELD_KEEPS_ONE_IN : 1);
    const budgetUntilMs = restraint.pausedUntilMs - clock.now() + clock.wallNow();
    const askedUntilMs = Math.max(lastPollAtMs ?? 0, pausedUntilMs, budgetUntilMs);
    return {
      state: health.state,
      isUp: health.isUp,
      sinceMs: history.sinceMs,
      lastPollAtMs,
      knownUntilMs: askedUntilMs + slots * schedule.longestGapMs,
      incident,
    };
  }

  /** One unreadable key does not stop the other upstreams. */
  async #tryAgain(faults: readonly FaultOf[]): Promise<void> {
    const { log, clock, stopping } = this.#parts;
    log.error({ faults: faults.map(({ fault }) => fault) }, "cannot poll all upstreams, trying again");
    await clock.sleep(TRY_AGAIN_MS, stopping);
    if (!stopping.aborted) await this.exclusively(() => this.begin());
  }
}

/** The container's limit, where there is one. */
function memoryOfProcess(): number {
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}
