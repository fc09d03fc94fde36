import { totalmem } from "node:os";
import { closeProbes, openProbes, type ProbeParts, type Probes, upstreamsToOpen } from "./probes.ts";
import type { TransportParts } from "../transport/open.ts";
import { COUNTERS } from "./features/shown.ts";
import { type Budgets, equipmentOf } from "./features/polling.ts";
import { LargeAnswers } from "./large-answers.ts";
import { type Credentials, openCredentials } from "./features/credentials.ts";
import { BodyMemory } from "../transport/body-memory.ts";
import type { Config, Upstream } from "../kernel/config/config.ts";
import type { Health } from "../kernel/poll/health.ts";
import type { Opened } from "../platform/opened.ts";
import { Supervisor } from "../kernel/polling/supervisor.ts";
import type { Logger } from "../features/log/logger.ts";
import { cronTriggers } from "../platform/node-cron.ts";
import type { SeenBefore } from "../features/history/incidents.ts";
import type { UpstreamRecord } from "../features/history/upstream-record.ts";
import { Records, type RecordsParts } from "./records.ts";
import { LARGEST_BODY_BYTES } from "../kernel/exchange/exchange.ts";

/** All large bodies that are being read share this part of the memory that the process may use, and those that wait for it another. */
const PART_FOR_BODIES = 1 / 12;
const PART_FOR_WAITING = 1 / 4;

export type PollingParts = TransportParts &
  RecordsParts & {
    readonly log: Logger;
    readonly budgets: Budgets;
    /** Of the config that runs: how often an upstream may be looked at again between two slots, while it is down. */
    readonly looksOf?: (upstream: string) => number;
    readonly onBug: (error: unknown) => void;
  };

const TRY_AGAIN_MS = 5_000;

/** Polls the upstreams of the config. */
export class AppPolling implements AsyncDisposable {
  readonly #parts: PollingParts;
  readonly #supervisor: Supervisor;
  readonly #credentials: readonly Credentials[];
  readonly #records: Records;
  readonly #memory = new BodyMemory(
    Math.max(LARGEST_BODY_BYTES, memoryOfProcess() * PART_FOR_BODIES),
    memoryOfProcess() * PART_FOR_WAITING,
  );
  readonly #largeAnswers: LargeAnswers;
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
    const { clock, budgets, services, log, looksOf, onBug } = parts;
    this.#records = new Records(config.upstreams, parts);
    this.#largeAnswers = new LargeAnswers(clock);
    const life = clock.wallNow().toString(36);
    let polls = 0;
    this.#supervisor = new Supervisor({
      clock,
      ledger: budgets.ledger,
      triggers: cronTriggers(log),
      recorderOf: (upstream) => this.#countedRecordOf(upstream),
      healthOf: (upstream) => this.#records.healthBefore(upstream),
      equip: (upstream) => equipmentOf(upstream, budgets, services),
      looksOf,
      judgeLarge: this.#largeAnswers.judge,
      nextPollId: () => `${life}-${(polls += 1).toString(36)}`,
      onBug,
    });
    this.#credentials = openCredentials({ ...parts, hints: budgets.hints, queue: this.#supervisor.queue });
  }

  healthOf(upstream: string): Health {
    return this.#supervisor.healthOf(upstream);
  }

  /** Since then each of its slots is owed a poll. Undefined for one that is not polled here. Wall clock. */
  owedSinceMs(upstream: string): number | undefined {
    return this.#supervisor.owedSinceMs(upstream);
  }

  nextSlotAtMs(upstream: Upstream): number | undefined {
    return this.#supervisor.nextSlotAtMs(upstream);
  }

  recordOf(upstream: string): UpstreamRecord | undefined {
    return this.#records.of(upstream);
  }

  /** What the next leader must know of them: those that are not well, or are not known to be. */
  get seen(): ReadonlyMap<string, SeenBefore> {
    return new Map(
      this.#applied.upstreams.flatMap((upstream) => {
        const seen = this.#records.seenOf(upstream, this.#supervisor.healthOf(upstream.name));
        return seen === undefined ? [] : [[upstream.name, seen] as const];
      }),
    );
  }

  /** How many cannot be reached because we are offline; 0 while any answers. */
  offlineUpstreams(nowMs: number): number {
    return this.#records.network.unreachable(nowMs);
  }

  /** It failed, and the failure may be our own network's. */
  isUnsure(upstream: string): boolean {
    return this.#records.network.isSuspected(upstream);
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
    for (const each of this.#credentials) each.keep(this.#config.upstreams);
    return { kind: "refused", faults };
  }

  /** At once, with the probes that were opened for it. */
  apply(config: Config, probes: Probes): void {
    this.#config = config;
    const known = new Set(this.#applied.upstreams.map(({ name }) => name));
    const polled = config.upstreams.filter(({ name }) => known.has(name) || probes.has(name));
    this.#applied = { ...config, upstreams: polled };
    this.#supervisor.apply(this.#applied, probes);
    for (const each of this.#credentials) each.keep(config.upstreams);
    this.#records.keep(polled);
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
    const closing = this.#credentials.map((each) => each[Symbol.asyncDispose]());
    await Promise.all([this.#supervisor.drain(), ...closing]);
    // What is not known to be our own network's failure is left as it is.
    this.#records.network.keep([]);
    await this.#largeAnswers[Symbol.asyncDispose]();
  }

  get #probeParts(): ProbeParts {
    return { ...this.#parts, memory: this.#memory, credentials: this.#credentials };
  }

  /** What its config asks for is counted from now on. */
  #countedRecordOf(upstream: Upstream): UpstreamRecord {
    const record = this.#records.open(upstream);
    record.accounts.count(upstream, COUNTERS);
    return record;
  }

  /** One unreadable key does not stop the other upstreams. */
  async #tryAgain(faults: readonly string[]): Promise<void> {
    const { log, clock, stopping } = this.#parts;
    log.error({ faults }, "cannot poll all upstreams, trying again");
    await clock.sleep(TRY_AGAIN_MS, stopping);
    if (!stopping.aborted) await this.exclusively(() => this.begin());
  }
}

/** The container's limit, where there is one. */
function memoryOfProcess(): number {
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}
