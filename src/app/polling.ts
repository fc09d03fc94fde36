import { totalmem } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  faultsOfKeys,
  closeProbes,
  type FaultOf,
  openProbes,
  type ProbeParts,
  type Probes,
  type TransportParts,
  upstreamsToOpen,
} from "./probes.ts";
import { LargeAnswers } from "./large-answers.ts";
import { AppTokens } from "./tokens.ts";
import type { UpstreamPauses } from "../core/budget/pauses.ts";
import { BodyMemory } from "../adapters/undici/body-memory.ts";
import { bytesForBodies, bytesForWaiting } from "../core/exchange/bounds.ts";
import type { Ledger } from "../core/budget/ledger.ts";
import type { Quotas } from "../core/budget/quotas.ts";
import type { Config, Upstream } from "../core/config/config.ts";
import type { Opened } from "../core/config/opened.ts";
import { mostOf } from "../core/config/price.ts";
import { healthIn } from "../core/fleet/fleet-status.ts";
import type { Holdings } from "../core/fleet/holdings.ts";
import type { Health } from "../core/poll/health.ts";
import type { Poll } from "../core/poll/poll.ts";
import type { Recorder } from "../core/poll/ports.ts";
import { cronOf } from "../core/schedule/schedule.ts";
import { keepNewest } from "../core/text/remembered.ts";
import { usedUpWords } from "../core/status/credit-sentence.ts";
import { quotaStanding } from "../core/status/quota-status.ts";
import type { Gained } from "../engine/fleet/parts.ts";
import type { Notifier } from "../engine/notify/notifier.ts";
import { type Condition, Supervisor } from "../engine/poll/supervisor.ts";
import { type Logger, LogRecorder } from "../adapters/log/logger.ts";
import { cronTriggers } from "../adapters/node-cron.ts";
import { History, type Kept } from "../core/history/history.ts";
import { isWatching } from "../core/history/watched.ts";
import { type SeenBefore, seenElsewhere, seenLast, seenUntil } from "../core/history/incidents.ts";
import { OwnNetwork } from "../core/history/own-network.ts";
import { UpstreamRecord } from "../core/history/upstream-record.ts";
import type { RestoredUpstream, StateStore } from "../core/history/state.ts";

export type PollingParts = TransportParts & {
  readonly log: Logger;
  readonly ledger: Ledger;
  readonly pauses?: UpstreamPauses;
  readonly quotas?: Quotas;
  readonly store: Pick<StateStore, "restored" | "inAnIncident" | "recorderOf"> | undefined;
  readonly notifier?: Pick<Notifier, "recorderOf"> | undefined;
  /** Tells what this replica may poll now; undefined where it polls all. */
  readonly holdings: Pick<Holdings, "has"> | undefined;
  /** Aborts when the app stops. */
  readonly stopping: AbortSignal;
  readonly onBug: (error: unknown) => void;
};

const TRY_AGAIN_MS = 5_000;
const SETTLE_EVERY_MS = 5_000;
/** Replicas read their clocks a little apart. */
const SAME_PAUSE_MS = 1_000;
/** A month of hours takes 29 kB, a week of one value ten, and fifty incidents as much. */
const MOST_GONE = 500;

/** Of an upstream that is not polled here now. */
type Gone = Pick<RestoredUpstream, "incidents" | "polls" | "evidence"> & { readonly kept: Kept };

/** Polls the upstreams of the config: all of them, or those that the fleet gives this replica. */
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
  readonly #held = new Set<string>();
  /** Something was heard of these upstreams that others were not told yet. */
  readonly #untold = new Set<string>();
  /** How another replica, or this one before its start, saw upstreams that have not been polled here since. */
  readonly #seenBefore = new Map<string, SeenBefore>();
  #config: Config;
  /** The supervisor was given this one: with only those upstreams in it that are polled here. */
  #applied: Config;
  /** Reloads and gains come one after the other. A loss waits for neither. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Nothing is polled until the first `apply` or `gain`. */
  constructor(config: Config, parts: PollingParts) {
    this.#config = config;
    this.#applied = { ...config, upstreams: [] };
    this.#parts = parts;
    const { clock, ledger, pauses, log, store, holdings, onBug } = parts;
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
      holds: holdings && ((upstream) => holdings.has(upstream)),
      recorderOf: (upstream) => this.#keptRecordOf(upstream),
      healthOf: (upstream) => this.#healthBefore(upstream),
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

  /** Undefined for an upstream that another replica holds, even before its polls here are cut off. */
  recordOf(upstream: string): UpstreamRecord | undefined {
    return this.#parts.holdings?.has(upstream) === false ? undefined : this.#records.get(upstream);
  }

  /** All upstreams polled here, or those of which something was heard since this was asked last. */
  toTell(isWhole: boolean): readonly Upstream[] {
    const untold = new Set(this.#untold);
    this.#untold.clear();
    const { upstreams } = this.#applied;
    return isWhole ? upstreams : upstreams.filter(({ name }) => untold.has(name));
  }

  /** Of the last poll, here or where it was polled before. */
  lastPollAtMs(upstream: string): number | undefined {
    return this.recordOf(upstream)?.history.lastPoll?.atMs ?? this.#seenBefore.get(upstream)?.lastPollAtMs;
  }

  /** Of who polled it before; undefined once it was polled here. */
  bulletinBefore(upstream: string): string | undefined {
    return this.#seenBefore.get(upstream)?.bulletin;
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

  /** Probes for what is new in this config and polled here. All keys must be readable: the fleet may give us any upstream. */
  async open(config: Config): Promise<Opened<Probes>> {
    const keyFaults = this.#parts.holdings ? await faultsOfKeys(config.upstreams, this.#parts) : [];
    if (keyFaults.length > 0) return { kind: "refused", faults: keyFaults };
    const wanted = upstreamsToOpen(this.#partOf(config), this.#applied);
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
    const part = this.#partOf(config);
    const polled = part.upstreams.filter(({ name }) => known.has(name) || probes.has(name));
    const names = new Set(polled.map(({ name }) => name));
    // Lost while its probe was opened.
    for (const [name, probe] of probes) if (!names.has(name)) void probe.close();
    this.#applied = { ...config, upstreams: polled };
    this.#supervisor.apply(this.#applied, probes);
    for (const { name, schedule } of polled) {
      const history = this.#records.get(name)?.history;
      if (history !== undefined) history.longestGapMs = schedule.longestGapMs;
    }
    this.#tokens.keep(config.upstreams);
    this.#dropRecords();
  }

  /** Resolves when they are polled; some may be lost again meanwhile. */
  gain(gained: readonly Gained[]): Promise<void> {
    for (const { upstream, view } of gained) {
      this.#held.add(upstream);
      if (view !== undefined) this.#seenBefore.set(upstream, view);
    }
    return this.exclusively(async () => {
      // Thousands come in batches: other work gets a turn between them.
      await nextTurn();
      const wanted = upstreamsToOpen(this.#partOf(this.#config), this.#applied);
      const { probes, faults } = await openProbes(wanted, this.#probeParts);
      if (this.#parts.stopping.aborted) return closeProbes(probes);
      this.apply(this.#config, probes);
      this.#countMissed(gained);
      if (faults.length > 0) void this.#tryAgain(faults);
    });
  }

  /** Another replica heard that this upstream wants a pause. */
  pause(upstream: string, forMs: number): void {
    const { pauses, clock } = this.#parts;
    // It may be our own: told again, it would go round for ever.
    if (pauses === undefined || pauses.untilMs(upstream) >= clock.now() + forMs - SAME_PAUSE_MS) return;
    if (this.#applied.upstreams.some(({ name }) => name === upstream))
      this.#supervisor.pause(upstream, forMs);
    else pauses.pause(upstream, forMs);
  }

  /** Polls in flight end, or are cut off at once. Resolves when the last of them is over. */
  async drop(upstreams: readonly string[], how: "drain" | "cut off"): Promise<void> {
    for (const upstream of upstreams) this.#held.delete(upstream);
    this.#applied = this.#partOf(this.#applied);
    await this.#supervisor.drop(upstreams, how);
    // Their series end with their last poll. What was gained back meanwhile goes on.
    this.#dropRecords();
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

  #keptRecordOf(upstream: Upstream): UpstreamRecord {
    const { clock, store } = this.#parts;
    const { name, schedule } = upstream;
    const known = this.#records.get(name);
    if (known !== undefined) return known;
    const gone = this.#gone.get(name);
    this.#gone.delete(name);
    const restored = gone ?? store?.restored(name);
    const nowMs = clock.wallNow();
    const elsewhere = this.#seenBefore.get(name);
    const before = elsewhere ?? (restored && seenLast(restored, schedule.longestGapMs));
    if (before !== undefined) this.#seenBefore.set(name, before);
    const own = restored?.incidents ?? [];
    const incidents = seenUntil(
      elsewhere === undefined ? own : seenElsewhere(name, own, elsewhere),
      before?.lastPollAtMs,
      nowMs,
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
    return before && this.#parts.clock.wallNow() <= before.knownUntilMs ? healthIn(before) : undefined;
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
      { record: () => void this.#untold.add(name) },
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
    for (const name of this.#seenBefore.keys()) if (!this.#held.has(name)) this.#seenBefore.delete(name);
    const configured = new Set(this.#config.upstreams.map(({ name }) => name));
    for (const [name, record] of this.#records) {
      if (names.has(name)) continue;
      this.#records.delete(name);
      // Where it is in the config still, another replica watches it.
      if (!configured.has(name)) record.record({ kind: "unwatched" });
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

  #partOf(config: Config): Config {
    if (this.#parts.holdings === undefined) return config;
    return { ...config, upstreams: config.upstreams.filter(({ name }) => this.#held.has(name)) };
  }

  #countMissed(gained: readonly Gained[]): void {
    const nowMs = this.#parts.clock.wallNow();
    const schedules = new Map(this.#applied.upstreams.map(({ name, schedule }) => [name, schedule]));
    for (const { upstream, unheldMs } of gained) {
      const schedule = schedules.get(upstream);
      if (schedule === undefined || unheldMs === undefined) continue;
      const missed = cronOf(schedule).countBetween(nowMs - unheldMs, nowMs);
      if (missed > 0) this.#supervisor.missed(upstream, missed);
    }
  }

  /** One unreadable key does not stop the other upstreams. */
  async #tryAgain(faults: readonly FaultOf[]): Promise<void> {
    const { log, clock, stopping } = this.#parts;
    log.error(
      { faults: faults.map(({ fault }) => fault) },
      "cannot poll all upstreams from the fleet, trying again",
    );
    await clock.sleep(TRY_AGAIN_MS, stopping);
    const still = faults.filter(({ upstream }) => this.#held.has(upstream));
    if (stopping.aborted || still.length === 0) return;
    await this.gain(still.map(({ upstream }) => ({ upstream, unheldMs: undefined, view: undefined })));
  }
}

/** The container's limit, where there is one. */
function memoryOfProcess(): number {
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}
