import { randomBytes } from "node:crypto";
import { RedisFleetBoard } from "../adapters/redis/board.ts";
import type { Redis } from "../adapters/redis/connection.ts";
import type { Config, Fleet } from "../core/config/config.ts";
import type { FleetBoard } from "../core/fleet/board.ts";
import { nameOf } from "../core/fleet/member.ts";
import { readView, viewKey, viewText, type FleetStatus, type FleetView } from "../core/fleet/fleet-status.ts";
import type { Log } from "../core/text/log.ts";
import type { Clock } from "../core/time/clock.ts";
import type { RedisAccount } from "../core/metrics/redis-account.ts";
import type { FleetSnapshot } from "../core/metrics/snapshot.ts";
import { FleetMembership } from "../engine/fleet/membership.ts";
import type { FleetEvents } from "../engine/fleet/parts.ts";

export type AppMembershipParts = {
  readonly fleet: Fleet;
  readonly redis: Redis;
  readonly account: RedisAccount;
  readonly clock: Clock;
  readonly log: Log;
  /** URL that this replica listens on. */
  readonly listensOn: string;
  readonly config: () => Config;
  readonly events: Omit<FleetEvents, "statuses">;
  /** The state of the upstreams that this replica polls. */
  readonly views: () => ReadonlyMap<string, Omit<FleetView, "vantage">>;
  readonly onBug: (error: unknown) => void;
};

/** However often a page is loaded, Redis is asked at most this often. */
const FRESH_FOR_MS = 1_000;

/** This replica in its fleet: what it may poll, and the state of the whole fleet. */
export class AppMembership {
  readonly #parts: AppMembershipParts;
  readonly #board: FleetBoard;
  readonly #membership: FleetMembership;
  #published: ReadonlyMap<string, string> = new Map();
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> = Promise.resolve();

  constructor(parts: AppMembershipParts) {
    const { fleet, redis, clock, log, onBug } = parts;
    this.#parts = parts;
    this.#board = new RedisFleetBoard(redis, { prefix: fleet.prefix });
    this.#membership = new FleetMembership({
      clock,
      log,
      onBug,
      board: this.#board,
      name: fleet.name,
      url: fleet.advertise ?? parts.listensOn,
      ttlMs: fleet.ttlMs,
      boot: randomBytes(6).toString("hex"),
      isSharded: fleet.mode === "shard",
      events: { ...parts.events, statuses: () => this.#statuses() },
    });
    redis.onChange((isUp) => isUp && this.#membership.beatSoon());
  }

  start(): void {
    this.changed();
    this.#membership.start();
  }

  /** After the config has. */
  changed(): void {
    this.#membership.setUpstreams(this.#parts.config().upstreams.map(({ name }) => name));
  }

  holds(upstream: string): boolean {
    return this.#membership.holds(upstream);
  }

  leave(): void {
    this.#membership.leave();
  }

  close(): Promise<void> {
    return this.#membership.close();
  }

  snapshot(): FleetSnapshot {
    const { fleet, redis, account } = this.#parts;
    return {
      vantage: fleet.mode === "everywhere" ? fleet.name : undefined,
      replicas: this.#membership.members.length,
      held: this.#membership.heldCount,
      moves: { ...this.#membership.moves },
      sessionValid: this.#membership.isValid,
      redisUp: redis.isUp,
      redis: account,
    };
  }

  /** Asks Redis for the views of the other replicas. Without an answer, uses the last ones. */
  async status(): Promise<FleetStatus> {
    const { clock, fleet, redis } = this.#parts;
    if (clock.now() - this.#askedAtMs >= FRESH_FOR_MS) {
      this.#askedAtMs = clock.now();
      this.#asking = this.#askPublished();
    }
    await this.#asking;
    const upstreams = this.#parts.config().upstreams.map(({ name }) => ({
      name,
      holder: this.#holderOf(name),
      views: this.#viewsOf(name),
    }));
    const heldBy = Map.groupBy(upstreams, ({ holder }) => holder);
    return {
      mode: fleet.mode,
      name: fleet.name,
      redisUp: redis.isUp,
      sessionValid: this.#membership.isValid,
      replicas: this.#membership.members.map(({ session, name, url, held, isLeaving }) => ({
        name,
        url,
        // In shard mode the board is newer than what the replica says.
        held: fleet.mode === "shard" ? (heldBy.get(name)?.length ?? 0) : held,
        isThisOne: session === this.#membership.session,
        isLeaving,
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
    const { mode } = this.#parts.fleet;
    const vantages = mode === "shard" ? [""] : this.#membership.members.map(({ name }) => name);
    return vantages.flatMap((vantage) => {
      const text = this.#published.get(viewKey(mode, upstream, vantage));
      const view = text === undefined ? undefined : readView(text);
      return view === undefined ? [] : [view];
    });
  }

  #statuses(): ReadonlyMap<string, string> {
    const { mode, name } = this.#parts.fleet;
    return new Map(
      [...this.#parts.views()].map(
        ([upstream, view]) => [viewKey(mode, upstream, name), viewText({ ...view, vantage: name })] as const,
      ),
    );
  }
}
