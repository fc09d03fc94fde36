import { randomBytes } from "node:crypto";
import { RedisFleetBoard } from "../adapters/redis/board.ts";
import { Redis } from "../adapters/redis/connection.ts";
import type { NoteHome } from "../core/budget/journal.ts";
import type { RunningLedger } from "../core/budget/ledger.ts";
import type { Quotas } from "../core/budget/quotas.ts";
import type { BudgetRecord } from "../core/budget/record.ts";
import type { Config, Fleet } from "../core/config/config.ts";
import type { Opened } from "../core/config/opened.ts";
import type { FleetBoard } from "../core/fleet/board.ts";
import { budgetOnBoard, groupsOf, namesNeededBy, upstreamOnBoard } from "../core/fleet/groups.ts";
import { Holdings } from "../core/fleet/holdings.ts";
import { nameOf } from "../core/fleet/member.ts";
import { readView, viewKey, type FleetStatus, type FleetView } from "../core/fleet/fleet-status.ts";
import { RedisAccount } from "../core/metrics/accounts.ts";
import type { FleetSnapshot } from "../core/metrics/snapshot.ts";
import { conditionsOf } from "../core/notify/bulletin.ts";
import type { Condition } from "../core/notify/alert.ts";
import { hash32 } from "../core/schedule/hash.ts";
import type { Clock } from "../core/time/clock.ts";
import { FleetLedger } from "../engine/fleet/fleet-ledger.ts";
import { FleetMembership } from "../engine/fleet/membership.ts";
import type { FleetConfig, FleetEvents } from "../engine/fleet/parts.ts";
import { openKey, type KeyParts } from "./probes.ts";

/** The fleet asks this of a replica, and tells it this. */
export type Replica = Omit<FleetEvents, "records"> & {
  /** For the replica that tells people of the whole fleet. */
  notifiedRecords(replica: string, isEldest: boolean): Iterable<readonly [string, string]>;
  /** How it sees the upstreams that it polls: all, or those of which something was heard since it was asked last. */
  views(isWhole: boolean): Iterable<readonly [string, Omit<FleetView, "vantage">]>;
};

export type FleetParts = KeyParts & {
  readonly clock: Clock;
  readonly quotas: Quotas;
  readonly records: ReadonlyMap<string, BudgetRecord> | undefined;
  readonly onBug: (error: unknown) => void;
};

export type OpenedLedger = {
  readonly ledger: RunningLedger;
  /** What is used of quotas is written here too. */
  readonly homes: readonly NoteHome[];
  /** Undefined where this process is the only one. */
  readonly fleet: OpenedFleet | undefined;
};

/** Before anything is polled: whoever polls asks it what this replica holds, and so cannot be there before it. */
export type OpenedFleet = {
  readonly holdings: Holdings;
  join(replica: Replica): AppFleet;
};

/** Nobody waits for Redis here: until it answers, nothing is polled. */
export async function openFleet(
  config: Config,
  fleet: Fleet,
  parts: FleetParts,
  stack: AsyncDisposableStack,
): Promise<Opened<OpenedLedger>> {
  const { clock, log, keys, quotas, records, onBug } = parts;
  const source = fleet.redis.password;
  const password = source && (await openKey(source, "fleet.redis", { fleet: "redis" }, parts));
  if (password?.kind === "refused") {
    return { kind: "refused", faults: password.faults.map((fault) => `fleet.redis.password: ${fault}`) };
  }
  const account = new RedisAccount(clock.wallNow());
  const redis = stack.use(
    new Redis(fleet, {
      clock,
      log,
      withoutKeys: (text) => keys.hide(text),
      password: password?.what,
      onCall: ({ call, durationMs, failure }) => account.observe(call, durationMs, failure),
    }),
  );
  const board = new RedisFleetBoard(redis, { prefix: fleet.prefix });
  const holdings = new Holdings({ ...fleet, boot: randomBytes(6).toString("hex") }, clock);
  const ledger = new FleetLedger(config, { fleet, board, holdings, clock, quotas, records, onBug });
  const join = (replica: Replica): AppFleet =>
    new AppFleet({ ...parts, fleet, redis, board, ledger, account, holdings, replica });
  return { kind: "opened", what: { ledger, homes: [ledger.counts], fleet: { holdings, join } } };
}

/** Redis is asked at most this often, however often a page is loaded. */
const FRESH_FOR_MS = 1_000;

type Joined = Omit<FleetParts, "quotas" | "records"> & {
  readonly fleet: Fleet;
  readonly redis: Redis;
  readonly board: FleetBoard;
  readonly ledger: FleetLedger;
  readonly account: RedisAccount;
  readonly holdings: Holdings;
  readonly replica: Replica;
};

/** This replica among the others: what it may poll, and what it knows of them all. */
export class AppFleet {
  readonly #joined: Joined;
  readonly membership: FleetMembership;
  #url = "";
  #published: ReadonlyMap<string, string> = new Map();
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<unknown> = Promise.resolve();

  constructor(joined: Joined) {
    const { clock, log, onBug, fleet, redis, board, ledger, holdings, replica } = joined;
    this.#joined = joined;
    this.membership = new FleetMembership({
      clock,
      log,
      onBug,
      board,
      name: fleet.name,
      url: () => fleet.advertise ?? this.#url,
      ttlMs: fleet.ttlMs,
      holdings,
      budgets: ledger,
      isSharded: fleet.mode === "shard",
      events: { ...replica, records: (isWhole) => this.#records(isWhole) },
      random: Math.random,
    });
    ledger.tellBy(this.membership.tellings);
    redis.onChange((isUp) => isUp && this.membership.beatSoon());
  }

  /** `url`: where this replica listens. */
  start(config: Config, url: string): void {
    this.#url = url;
    this.changed(config);
    this.membership.start();
  }

  changed(config: Config): void {
    this.membership.setConfig(fleetConfigOf(config));
  }

  tellPause(upstream: string, forMs: number): void {
    if (forMs > 0) this.membership.tellings.pause(upstreamOnBoard(upstream), forMs);
  }

  /** All that the board says, for the one replica that tells people of it; undefined for others, and without an answer. */
  async hear(): Promise<ReadonlyMap<string, string> | undefined> {
    if (!this.membership.isEldest) return undefined;
    const records = await this.#ask();
    return this.membership.isEldest ? records : undefined;
  }

  /** Who told may have been another one before it, and none within it. */
  get reign(): string {
    return this.#joined.holdings.session;
  }

  /** The upstreams with a bulletin. Where all poll, each replica knows by itself. */
  bulletins(): readonly string[] {
    const { mode } = this.#joined.fleet;
    if (mode === "everywhere") return [];
    return [...this.membership.config.namesOf.keys()].filter((name) =>
      // Thousands have none, and need not be read.
      this.#published.get(viewKey(mode, name, ""))?.includes('"bulletin":'),
    );
  }

  viewOf(upstream: string): FleetView | undefined {
    return this.#viewsOf(upstream).at(0);
  }

  isLive(replica: string | undefined): boolean {
    return replica === undefined || this.membership.view.members.some(({ name }) => name === replica);
  }

  /** Of the other replicas themselves. */
  conditions(): readonly Condition[] {
    const others = new Set(this.membership.view.members.map(({ name }) => name));
    others.delete(this.#joined.fleet.name);
    return [...others].flatMap((name) => conditionsOf(name, this.#published));
  }

  snapshot(): FleetSnapshot {
    const { fleet, redis, ledger, account, holdings } = this.#joined;
    const { mode, name } = fleet;
    return {
      vantage: mode === "everywhere" ? name : undefined,
      replicas: this.membership.view.members.length,
      upstreams: this.membership.config.namesOf.size,
      held: this.membership.heldCount,
      moves: { ...this.membership.ownership.moves },
      sessionValid: holdings.isSessionValid,
      hasReserve: mode === "everywhere" && fleet.reserve > 0 ? ledger.hasSeat : undefined,
      configs: this.membership.view.configs,
      clockAheadMs: this.membership.clockAheadMs,
      redisUp: redis.isUp,
      redis: account,
    };
  }

  /** Asks Redis how the others see what they poll; without an answer, the last one is shown. */
  async status(): Promise<FleetStatus> {
    const { mode, name: ownName } = this.#joined.fleet;
    const nowMs = this.#joined.clock.now();
    if (nowMs - this.#askedAtMs >= FRESH_FOR_MS) {
      this.#askedAtMs = nowMs;
      this.#asking = this.#ask();
    }
    await this.#asking;
    const upstreams = [...this.membership.config.namesOf.keys()].map((name) => ({
      name,
      holder: this.#holderOf(upstreamOnBoard(name)),
      views: this.#viewsOf(name),
    }));
    const heldBy = Map.groupBy(upstreams, ({ holder }) => holder);
    const budgets = this.membership.config.groups.flatMap((group) => group.budgets);
    const { members, usualClockMs } = this.membership.view;
    return {
      mode,
      name: ownName,
      redisUp: this.#joined.redis.isUp,
      sessionValid: this.#joined.holdings.isSessionValid,
      replicas: members.map(({ session, name, url, held, isLeaving, provenMs, clockAheadMs }) => ({
        name,
        url,
        // Newer than what the replica itself last said.
        held: mode === "shard" ? (heldBy.get(name)?.length ?? 0) : held,
        isThisOne: session === this.#joined.holdings.session,
        isLeaving,
        isNew: mode === "shard" && !((provenMs ?? 0) >= this.#joined.fleet.ttlMs),
        clockAheadMs: clockAheadMs - usualClockMs,
      })),
      upstreams,
      budgets:
        mode === "shard"
          ? budgets.map((budget) => ({ name: budget, holder: this.#holderOf(budgetOnBoard(budget)) }))
          : [],
      waitsFor: this.membership.waitsFor,
      configs: this.membership.view.configs,
    };
  }

  async #ask(): Promise<ReadonlyMap<string, string> | undefined> {
    const records = await this.#joined.board.records();
    if (records !== undefined) this.#published = records;
    return records;
  }

  #holderOf(name: string): string | undefined {
    const session = this.membership.view.holderOf(name);
    return session === undefined ? undefined : nameOf(session);
  }

  #viewsOf(upstream: string): readonly FleetView[] {
    const { fleet, clock } = this.#joined;
    const { mode } = fleet;
    const vantages = mode === "shard" ? [""] : this.membership.view.members.map(({ name }) => name);
    return vantages.flatMap((vantage) => {
      const text = this.#published.get(viewKey(mode, upstream, vantage));
      const view = text === undefined ? undefined : readView(text);
      if (view === undefined) return [];
      // Whoever last polled it may be gone.
      const isKnown = clock.wallNow() <= view.knownUntilMs;
      return [isKnown ? view : { ...view, state: "unknown" as const, isUp: undefined }];
    });
  }

  *#records(isWhole: boolean): Generator<readonly [string, string]> {
    const { fleet, replica } = this.#joined;
    const { mode, name } = fleet;
    yield* replica.notifiedRecords(name, this.membership.isEldest);
    for (const [upstream, view] of replica.views(isWhole))
      yield [viewKey(mode, upstream, name), JSON.stringify({ vantage: name, ...view })];
  }
}

function fleetConfigOf({ budgets, upstreams }: Config): FleetConfig {
  const agreed = [
    budgets.map(({ name, rates, share, quota, lingerMs }) => [name, rates, share, quota, lingerMs]),
    upstreams.map(({ name, schedule, timeoutMs, confirm }) => [name, schedule.source, timeoutMs, confirm]),
  ];
  return {
    groups: groupsOf(upstreams),
    namesOf: namesNeededBy(upstreams),
    digest: hash32(JSON.stringify(agreed)).toString(36),
  };
}
