import { createClient, createCluster } from "@redis/client";
import type { FleetRedis, RedisAddress } from "../../core/config/config.ts";
import { type RedisDriverParts, type RedisOptions, optionsOf } from "./options.ts";
import { masterOf } from "./sentinel.ts";

/** One connection, or those to one cluster: once it has ended, it stays so. */
export interface RedisDriver {
  /** Rejects where there is no good answer; a command is sent once at the most. */
  send(key: string | undefined, args: readonly string[], signal: AbortSignal): Promise<unknown>;
  readonly ended: Promise<void>;
  destroy(): void;
}

/** Rejects where it cannot be connected to. */
export async function openDriver(
  redis: FleetRedis,
  parts: RedisDriverParts,
  signal: AbortSignal,
): Promise<RedisDriver> {
  const { nodes } = redis;
  const options = await optionsOf(redis, parts);
  switch (nodes.kind) {
    case "single":
      return openClient(nodes, { ...options, database: nodes.database }, signal);
    case "cluster":
      return openCluster(nodes.nodes, options, signal);
    case "sentinel": {
      const master = await masterOf(nodes.master, nodes.nodes, options.socket, signal);
      return openClient(master, options, signal);
    }
    default:
      return nodes satisfies never;
  }
}

async function openClient(
  { host, port }: RedisAddress,
  options: RedisOptions,
  signal: AbortSignal,
): Promise<RedisDriver> {
  const client = createClient({ ...options, socket: { ...options.socket, host, port } });
  const ended = Promise.withResolvers<void>();
  // Without a listener an error would end the process; what it means for a command, that command hears by itself.
  client.on("error", () => ended.resolve());
  client.on("end", () => ended.resolve());
  const destroy = (): void => {
    ended.resolve();
    if (client.isOpen) client.destroy();
  };
  await connected(() => client.connect(), destroy, signal);
  return {
    send: (_key, args, aborted) => client.sendCommand([...args], { abortSignal: aborted }),
    ended: ended.promise,
    destroy,
  };
}

async function openCluster(
  nodes: readonly RedisAddress[],
  options: RedisOptions,
  signal: AbortSignal,
): Promise<RedisDriver> {
  const cluster = createCluster({
    rootNodes: nodes.map(({ host, port }) => ({ socket: { ...options.socket, host, port } })),
    // Its nodes come and go, and are connected to again by themselves: with nothing sent that was sent before.
    defaults: {
      ...options,
      socket: { ...options.socket, reconnectStrategy: (retries) => Math.min(1_000, 50 * 2 ** retries) },
    },
  });
  cluster.on("error", () => {});
  const ended = Promise.withResolvers<void>();
  const destroy = (): void => {
    ended.resolve();
    if (cluster.isOpen) cluster.destroy();
  };
  await connected(() => cluster.connect(), destroy, signal);
  return {
    send: (key, args, aborted) => cluster.sendCommand(key, false, [...args], { abortSignal: aborted }),
    ended: ended.promise,
    destroy,
  };
}

async function connected(
  connect: () => Promise<unknown>,
  destroy: () => void,
  signal: AbortSignal,
): Promise<void> {
  signal.addEventListener("abort", destroy, { once: true });
  try {
    await connect();
  } catch (error) {
    destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", destroy);
  }
}
