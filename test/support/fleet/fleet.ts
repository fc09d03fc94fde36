import { type ConfigFolder, type RawConfig, type RawUpstream, openConfigFolder } from "../config-folder.ts";
import { eventually } from "../eventually.ts";
import { RedisServer } from "../processes/redis-server.ts";
import { type CuttableProxy, openProxy } from "./cuttable-proxy.ts";
import { monotonicMs } from "./monotonic.ts";
import { type Replica, startReplica } from "./replica.ts";
import { type SeenRequest, type Witness, startWitness } from "./witness.ts";

export type FleetOptions = {
  readonly replicas: readonly string[];
  /** Of the config's `fleet`, but for what makes this one work. */
  readonly fleet: object;
  readonly budgets: RawConfig["budgets"];
  /** By the name of their budget. */
  readonly upstreams: Readonly<Record<string, readonly string[]>>;
  /** Of every upstream. */
  readonly upstream: object;
  /** The witness takes up to so long for an answer. */
  readonly slowestMs: number;
  readonly isScraped: boolean;
  /** The lock has a replica, and a Sentinel, and its processes are told where that is. */
  readonly hasSentinel?: true;
};

type Neighbours = {
  readonly redis: RedisServer;
  readonly replica: RedisServer | undefined;
  readonly sentinel: RedisServer | undefined;
  readonly config: RawConfig;
  readonly witness: Witness;
  readonly folder: ConfigFolder;
  readonly proxies: ReadonlyMap<string, CuttableProxy>;
  readonly isScraped: boolean;
};

/** Real processes on a real Redis, each with a way of its own to it, and one upstream process that sees them all. */
export class Fleet implements AsyncDisposable {
  readonly #neighbours: Neighbours;
  readonly #stack: AsyncDisposableStack;
  readonly #upstreams: readonly string[];
  readonly #current = new Map<string, Replica>();
  /** All lives of all replicas, in the order of their beginning. */
  readonly lives: Replica[] = [];

  constructor(neighbours: Neighbours, stack: AsyncDisposableStack, upstreams: readonly string[]) {
    this.#neighbours = neighbours;
    this.#stack = stack;
    this.#upstreams = upstreams;
  }

  get redis(): RedisServer {
    return this.#neighbours.redis;
  }

  /** Its master and its replica. */
  get lockServers(): readonly RedisServer[] {
    const { redis, replica } = this.#neighbours;
    return replica === undefined ? [redis] : [redis, replica];
  }

  get sentinel(): RedisServer {
    const { sentinel } = this.#neighbours;
    if (sentinel === undefined) throw new Error("its lock has no Sentinel");
    return sentinel;
  }

  /** Of the config that it was started with. Each process reloads it by itself. */
  async edit(change: (config: RawConfig) => RawConfig): Promise<void> {
    const { folder, config } = this.#neighbours;
    await folder.write(change(config));
  }

  get upstreams(): readonly string[] {
    return this.#upstreams;
  }

  get current(): readonly Replica[] {
    return [...this.#current.values()];
  }

  /** The way of one replica to Redis. */
  wayOf(name: string): CuttableProxy {
    const proxy = this.#neighbours.proxies.get(name);
    if (proxy === undefined) throw new Error(`no replica is called "${name}"`);
    return proxy;
  }

  replica(name: string): Replica {
    const replica = this.#current.get(name);
    if (replica === undefined) throw new Error(`"${name}" was never started`);
    return replica;
  }

  /** A new life of it. */
  async start(name: string): Promise<Replica> {
    const lives = this.lives.filter(({ life }) => life.startsWith(`${name}.`)).length;
    const replica = await startReplica({
      life: `${name}.${lives + 1}`,
      configPath: this.#neighbours.folder.path,
      isScraped: this.#neighbours.isScraped,
      environment: {
        REPLICA: name,
        REDIS_URL: `redis://127.0.0.1:${this.wayOf(name).port}/0`,
      },
    });
    this.#stack.use(replica);
    this.#current.set(name, replica);
    this.lives.push(replica);
    return replica;
  }

  async seen(): Promise<readonly SeenRequest[]> {
    return this.#neighbours.witness.seen();
  }

  /** Waits until each upstream has been polled after this moment, by whom the test says. */
  async allPolled(
    sinceMs: number = monotonicMs(),
    isWanted: (request: SeenRequest) => boolean = () => true,
  ): Promise<void> {
    await eventually(
      "no upstream is left without a poll",
      async () => {
        const recent = (await this.seen()).filter((request) => request.atMs > sinceMs && isWanted(request));
        const polled = new Set(recent.map(({ upstream }) => upstream));
        return this.#upstreams.filter((upstream) => !polled.has(upstream));
      },
      (unpolled) => unpolled.length === 0,
    );
  }

  /** By their own word, those that lead. */
  get leaders(): readonly Replica[] {
    return this.current.filter(({ hasEnded, leads }) => !hasEnded && leads);
  }

  /** Waits until one of them leads, by its own word. */
  async led(): Promise<Replica> {
    const [leader] = await eventually(
      "one process leads",
      () => this.leaders,
      (leaders) => leaders.length === 1,
    );
    if (leader === undefined) throw new Error("nobody leads");
    return leader;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** All replicas are started at once. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await RedisServer.start("--repl-diskless-sync-delay", "0"));
  const replica =
    options.hasSentinel && stack.use(await RedisServer.start("--replicaof", "127.0.0.1", String(redis.port)));
  const sentinel = options.hasSentinel && stack.use(await RedisServer.startSentinel("mymaster", redis.port));
  const witness = stack.use(await startWitness(options.slowestMs));
  const config = configOf(options, witness.url, sentinel);
  const folder = stack.use(await openConfigFolder(config));
  const proxies = new Map<string, CuttableProxy>();
  for (const name of options.replicas) {
    proxies.set(name, stack.use(await openProxy(redis.port)));
  }
  const upstreams = Object.values(options.upstreams).flat();
  const fleet = new Fleet(
    { redis, replica, sentinel, config, witness, folder, proxies, isScraped: options.isScraped },
    stack.move(),
    upstreams,
  );
  try {
    await Promise.all(options.replicas.map((name) => fleet.start(name)));
    return fleet;
  } catch (error) {
    await fleet[Symbol.asyncDispose]();
    throw error;
  }
}

function configOf(options: FleetOptions, url: string, sentinel: RedisServer | undefined): RawConfig {
  const place = sentinel
    ? { sentinel: { master: "mymaster", nodes: [`127.0.0.1:${sentinel.port}`] } }
    : { url: "${REDIS_URL}" };
  return {
    log: { level: "debug" },
    fleet: {
      lock: { redis: place },
      name: "${REPLICA}",
      ...options.fleet,
    },
    budgets: options.budgets,
    upstreams: Object.entries(options.upstreams).flatMap(([budget, names]) =>
      names.map((name): RawUpstream => ({
        name,
        budget,
        base_url: `${url}/${budget}/${name}`,
        auth: { none: true },
        headers: { "X-Replica": "${LIFE}" },
        ...options.upstream,
      })),
    ),
  };
}
