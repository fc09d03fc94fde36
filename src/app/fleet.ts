import { randomBytes } from "node:crypto";
import { RedisFleetBoard } from "../adapters/redis/board.ts";
import { Redis } from "../adapters/redis/connection.ts";
import { RedisLedger } from "../adapters/redis/ledger.ts";
import type { RunningLedger } from "../core/budget/ledger.ts";
import type { Quotas } from "../core/budget/quotas.ts";
import type { BudgetRecord } from "../core/budget/record.ts";
import type { Config, Fleet } from "../core/config/config.ts";
import type { Opened } from "../core/config/opened.ts";
import type { FleetBoard } from "../core/fleet/board.ts";
import { Holdings } from "../core/fleet/holdings.ts";
import { nameOf } from "../core/fleet/member.ts";
import { SessionValidity } from "../core/fleet/session-validity.ts";
import { readView, viewKey, viewText, type FleetStatus, type FleetView } from "../core/fleet/fleet-status.ts";
import { RedisAccount } from "../core/metrics/accounts.ts";
import type { FleetSnapshot } from "../core/metrics/snapshot.ts";
import type { Log } from "../core/text/log.ts";
import type { Clock } from "../core/time/clock.ts";
import { FleetMembership } from "../engine/fleet/membership.ts";
import type { FleetEvents } from "../engine/fleet/parts.ts";
import { SharedLedger } from "../engine/fleet/shared-ledger.ts";
import { openKey, type KeyParts } from "./probes.ts";

/** The fleet asks this of a replica, and tells it this. */
export type Replica = Omit<FleetEvents, "statuses"> & {
  /** How it sees the upstreams that it polls. */
  views(): ReadonlyMap<string, Omit<FleetView, "vantage">>;
};

export type FleetParts = KeyParts & {
  readonly clock: Clock;
  readonly quotas: Quotas;
  readonly records: ReadonlyMap<string, BudgetRecord> | undefined;
  readonly onBug: (error: unknown) => void;
};

export type OpenedLedger = {
  readonly ledger: RunningLedger;
  /** Undefined where this process is the only one. */
  readonly fleet: OpenedFleet | undefined;
};

/** Before anything is polled: whoever polls asks it what this replica holds, and so cannot be there before it. */
export type OpenedFleet = {
  readonly holdings: Holdings;
  join(replica: Replica): AppFleet;
};

/** Nobody waits for Redis here: until it answers, a replica polls from its reserve, or not at all. */
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
  const store = new RedisLedger(redis, fleet.prefix);
  const life = `${fleet.name}:${randomBytes(9).toString("base64url")}`;
  const ledger = stack.use(
    new SharedLedger(config, {
      fleet,
      store,
      clock,
      life,
      quotas,
      records,
      onReserveMissing: (isMissing) => {
        if (fleet.reserve > 0) tellReserve(isMissing, fleet, log);
      },
      onBug,
    }),
  );
  const session = new SessionValidity(fleet.name, randomBytes(6).toString("hex"), fleet.ttlMs);
  const holdings = new Holdings(session, clock);
  const join = (replica: Replica): AppFleet =>
    new AppFleet({ fleet, redis, ledger, account, holdings, replica }, parts);
  return { kind: "opened", what: { ledger, fleet: { holdings, join } } };
}

function tellReserve(isMissing: boolean, { name, replicas }: Fleet, log: Log): void {
  if (!isMissing) return log.info({ name }, "this replica has a reserve now");
  log.warn(
    { name, replicas },
    "this replica has no reserve: other replicas hold all of them, so it cannot poll while Redis is away",
  );
}

/** Redis is asked at most this often, however often a page is loaded. */
const FRESH_FOR_MS = 1_000;

type Joined = {
  readonly fleet: Fleet;
  readonly redis: Redis;
  readonly ledger: SharedLedger;
  readonly account: RedisAccount;
  readonly holdings: Holdings;
  readonly replica: Replica;
};

/** This replica among the others: what it may poll, and what it knows of them all. */
export class AppFleet {
  readonly #joined: Joined;
  readonly #clock: Clock;
  readonly #board: FleetBoard;
  readonly #membership: FleetMembership;
  #url = "";
  #upstreams: readonly string[] = [];
  #published: ReadonlyMap<string, string> = new Map();
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> = Promise.resolve();

  constructor(joined: Joined, { clock, log, onBug }: FleetParts) {
    const { fleet, redis, holdings, replica } = joined;
    this.#joined = joined;
    this.#clock = clock;
    this.#board = new RedisFleetBoard(redis, { prefix: fleet.prefix });
    this.#membership = new FleetMembership({
      clock,
      log,
      onBug,
      board: this.#board,
      name: fleet.name,
      url: () => fleet.advertise ?? this.#url,
      ttlMs: fleet.ttlMs,
      holdings,
      isSharded: fleet.mode === "shard",
      events: { ...replica, statuses: () => this.#statuses() },
    });
    redis.onChange((isUp) => isUp && this.#membership.beatSoon());
  }

  /** `url`: where this replica listens. */
  start(config: Config, url: string): void {
    this.#url = url;
    this.changed(config);
    this.#membership.start();
  }

  changed({ upstreams }: Config): void {
    this.#upstreams = upstreams.map(({ name }) => name);
    this.#membership.setUpstreams(this.#upstreams);
  }

  leave(): void {
    this.#membership.leave();
  }

  close(): Promise<void> {
    return this.#membership.close();
  }

  snapshot(): FleetSnapshot {
    const { fleet, redis, ledger, account, holdings } = this.#joined;
    const { mode, name } = fleet;
    return {
      vantage: mode === "everywhere" ? name : undefined,
      replicas: this.#membership.members.length,
      upstreams: this.#membership.upstreamCount,
      held: this.#membership.heldCount,
      moves: { ...this.#membership.moves },
      sessionValid: holdings.isSessionValid,
      hasReserve: fleet.reserve > 0 ? ledger.hasReserve : undefined,
      redisUp: redis.isUp,
      redis: account,
    };
  }

  /** Asks Redis how the others see what they poll; without an answer, the last one is shown. */
  async status(): Promise<FleetStatus> {
    const { mode, name: ownName } = this.#joined.fleet;
    if (this.#clock.now() - this.#askedAtMs >= FRESH_FOR_MS) {
      this.#askedAtMs = this.#clock.now();
      this.#asking = this.#askPublished();
    }
    await this.#asking;
    const upstreams = this.#upstreams.map((name) => ({
      name,
      holder: this.#holderOf(name),
      views: this.#viewsOf(name),
    }));
    const heldBy = Map.groupBy(upstreams, ({ holder }) => holder);
    return {
      mode,
      name: ownName,
      redisUp: this.#joined.redis.isUp,
      sessionValid: this.#joined.holdings.isSessionValid,
      replicas: this.#membership.members.map(({ session, name, url, held, isLeaving, trialEndsInMs }) => ({
        name,
        url,
        // Newer than what the replica itself last said.
        held: mode === "shard" ? (heldBy.get(name)?.length ?? 0) : held,
        isThisOne: session === this.#membership.session,
        isLeaving,
        isOnTrial: mode === "shard" && trialEndsInMs > 0,
      })),
      upstreams,
    };
  }

  async #askPublished(): Promise<void> {
    this.#published = (await this.#board.published()) ?? this.#published;
  }

  #holderOf(upstream: string): string | undefined {
    const session = this.#membership.holderOf(upstream);
    return session === undefined ? undefined : nameOf(session);
  }

  #viewsOf(upstream: string): readonly FleetView[] {
    const { mode } = this.#joined.fleet;
    const vantages = mode === "shard" ? [""] : this.#membership.members.map(({ name }) => name);
    return vantages.flatMap((vantage) => {
      const text = this.#published.get(viewKey(mode, upstream, vantage));
      const view = text === undefined ? undefined : readView(text);
      return view === undefined ? [] : [view];
    });
  }

  #statuses(): ReadonlyMap<string, string> {
    const { fleet, replica } = this.#joined;
    const { mode, name } = fleet;
    return new Map(
      [...replica.views()].map(
        ([upstream, view]) => [viewKey(mode, upstream, name), viewText({ ...view, vantage: name })] as const,
      ),
    );
  }
}
