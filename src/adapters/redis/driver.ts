import { createClient, createCluster } from "@redis/client";
import type { FleetRedis, Address } from "../../core/config/config.ts";
import { withShortAnswers } from "./answer-size.ts";
import { messageOf } from "../../core/text/escape.ts";
import { readRegularText } from "../../files/regular-file.ts";

export type RedisDriverParts = {
  /** Read for every connection, as passwords rotate. */
  readonly password: (() => string | Promise<string>) | undefined;
};

/** One connection, or the connections to one cluster. Once ended, it is not opened again. */
export interface RedisDriver {
  /** Rejects without a good answer. A command is sent at most once. */
  send(key: string | undefined, args: readonly string[], signal: AbortSignal): Promise<unknown>;
  readonly ended: Promise<void>;
  destroy(): void;
}

/** Rejects if it cannot connect. */
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
  { host, port }: Address,
  options: RedisOptions,
  signal: AbortSignal,
): Promise<RedisDriver> {
  const client = createClient({ ...options, socket: { ...options.socket, host, port } });
  const ended = Promise.withResolvers<void>();
  // Without a listener an error would end the process. The commands themselves are rejected.
  client.on("error", () => ended.resolve());
  client.on("end", () => ended.resolve());
  const destroy = (): void => {
    ended.resolve();
    if (client.isOpen) client.destroy();
  };
  await connected(() => withShortAnswers(() => client.connect()), destroy, signal);
  return {
    send: (_key, args, aborted) => client.sendCommand([...args], { abortSignal: aborted }),
    ended: ended.promise,
    destroy,
  };
}

async function openCluster(
  nodes: readonly Address[],
  options: RedisOptions,
  signal: AbortSignal,
): Promise<RedisDriver> {
  const cluster = createCluster({
    // The client takes it from here alone for each node. By itself it is 3, by whose rules answers are not measured.
    RESP: options.RESP,
    rootNodes: nodes.map(({ host, port }) => ({ socket: { ...options.socket, host, port } })),
    // The client reconnects to nodes by itself. It does not send a command again.
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
  await connected(() => withShortAnswers(() => cluster.connect()), destroy, signal);
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

type TlsOptions = {
  readonly tls?: true;
  readonly rejectUnauthorized?: true;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
};

type RedisSocket = TlsOptions & {
  readonly connectTimeout: number;
  readonly reconnectStrategy: false;
};

type RedisOptions = {
  readonly RESP: 2;
  readonly disableOfflineQueue: true;
  readonly disableClientInfo: true;
  readonly maintNotifications: "disabled";
  readonly username?: string;
  readonly password?: string;
  readonly database?: number;
  readonly socket: RedisSocket;
};

const CONNECT_WITHIN_MS = 2_000;

/** Common to all connections. Files and the password are read again each time. */
async function optionsOf(
  { username, tls }: FleetRedis,
  { password }: RedisDriverParts,
): Promise<RedisOptions> {
  const secret = await password?.();
  return {
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    ...(username === undefined ? {} : { username }),
    ...(secret === undefined ? {} : { password: secret }),
    socket: {
      connectTimeout: CONNECT_WITHIN_MS,
      reconnectStrategy: false,
      ...(tls === undefined ? {} : await tlsOf(tls)),
    },
  };
}

async function tlsOf(tls: NonNullable<FleetRedis["tls"]>): Promise<TlsOptions> {
  const read = async (path: string | undefined): Promise<string | undefined> =>
    path === undefined ? undefined : await readRegularText(path);
  const [ca, cert, key] = await Promise.all([read(tls.caFile), read(tls.certFile), read(tls.keyFile)]);
  return {
    tls: true,
    // Whatever the environment says.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  };
}

const ANSWER_WITHIN_MS = 1_000;

/** The current master, by the first sentinel that knows it. Asked again for every connection. */
async function masterOf(
  name: string,
  sentinels: readonly Address[],
  socket: RedisSocket,
  signal: AbortSignal,
): Promise<Address> {
  let problem = "no sentinel was asked";
  for (const sentinel of sentinels) {
    if (signal.aborted) break;
    try {
      return await ask(sentinel, name, socket);
    } catch (error) {
      problem = messageOf(error);
    }
  }
  throw new Error(`cannot find the master: no sentinel knows "${name}": ${problem}`);
}

async function ask({ host, port }: Address, name: string, socket: RedisSocket): Promise<Address> {
  const client = createClient({
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: "disabled",
    socket: { ...socket, host, port },
  });
  client.on("error", () => {});
  try {
    await withShortAnswers(() => client.connect());
    const answer: unknown = await client.sendCommand(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name], {
      timeout: ANSWER_WITHIN_MS,
    });
    return addressIn(answer);
  } finally {
    if (client.isOpen) client.destroy();
  }
}

function addressIn(answer: unknown): Address {
  if (!Array.isArray(answer)) throw new Error("it does not know this name");
  const [host, port]: readonly unknown[] = answer;
  if (typeof host !== "string" || typeof port !== "string") throw new Error("its answer is no address");
  return { host, port: Number(port) };
}
