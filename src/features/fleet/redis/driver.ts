import { createClient } from "@redis/client";
import type { Address } from "../../../kernel/config/config.ts";
import type { LockRedis } from "../config.ts";
import { messageOf } from "../../../kernel/text/escape.ts";
import { readRegularText } from "../../../platform/regular-file.ts";

export type RedisDriverParts = {
  /** Read for every connection, as passwords rotate. */
  readonly password: (() => string | Promise<string>) | undefined;
};

/** One connection. Once ended, it is not opened again. */
export interface RedisDriver {
  /** Rejects without a good answer. A command is sent at most once. */
  send(args: readonly string[], signal: AbortSignal): Promise<unknown>;
  readonly ended: Promise<void>;
  destroy(): void;
}

/** Rejects if it cannot connect. */
export async function openDriver(
  redis: LockRedis,
  parts: RedisDriverParts,
  signal: AbortSignal,
): Promise<RedisDriver> {
  const { nodes } = redis;
  const options = await optionsOf(redis, parts);
  switch (nodes.kind) {
    case "single":
      return openClient(nodes, { ...options, database: nodes.database }, signal);
    case "sentinel": {
      const ofSentinels = await optionsOf({ ...redis, username: undefined }, { password: undefined });
      const master = await masterOf(nodes.master, nodes.nodes, ofSentinels, signal);
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
  await inTime(() => client.connect(), 2 * CONNECT_WITHIN_MS, destroy, signal);
  const send: RedisDriver["send"] = (args, abortSignal) => client.sendCommand([...args], { abortSignal });
  return { send, ended: ended.promise, destroy };
}

/** Without an answer in time, or with a bad one, the connection is given up. */
async function inTime<Result>(
  act: () => Promise<Result>,
  mostMs: number,
  destroy: () => void,
  signal: AbortSignal,
): Promise<Result> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(mostMs)]);
  late.addEventListener("abort", destroy, { once: true });
  try {
    return await act();
  } catch (error) {
    destroy();
    throw error;
  } finally {
    late.removeEventListener("abort", destroy);
  }
}

const CONNECT_WITHIN_MS = 2_000;

/** Common to all connections. Files and the password are read again each time. */
async function optionsOf({ username, tls }: LockRedis, { password }: RedisDriverParts) {
  const secret = await password?.();
  return {
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    ...(username !== undefined && { username }),
    ...(secret !== undefined && { password: secret }),
    socket: {
      connectTimeout: CONNECT_WITHIN_MS,
      reconnectStrategy: false,
      ...(tls && (await tlsOf(tls))),
    },
  } as const;
}

type RedisOptions = Awaited<ReturnType<typeof optionsOf>> & { readonly database?: number };

async function tlsOf({ caFile, certFile, keyFile, serverName }: NonNullable<LockRedis["tls"]>) {
  const read = async (path: string | undefined): Promise<string | undefined> =>
    path === undefined ? undefined : await readRegularText(path);
  const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(read));
  return {
    tls: true,
    // Whatever the environment says.
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  } as const;
}

const ANSWER_WITHIN_MS = 1_000;

/** The current master, by the first sentinel that knows it. Asked again for every connection. */
async function masterOf(
  name: string,
  sentinels: readonly Address[],
  options: RedisOptions,
  signal: AbortSignal,
): Promise<Address> {
  let problem = "no sentinel was asked";
  for (const sentinel of sentinels) {
    if (signal.aborted) break;
    try {
      return await ask(sentinel, name, options, signal);
    } catch (error) {
      problem = messageOf(error);
    }
  }
  throw new Error(`cannot find the master: no sentinel knows "${name}": ${problem}`);
}

async function ask(
  sentinel: Address,
  name: string,
  options: RedisOptions,
  signal: AbortSignal,
): Promise<Address> {
  const driver = await openClient(sentinel, options, signal);
  const asked = (): Promise<unknown> => driver.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name], signal);
  try {
    return addressIn(await inTime(asked, ANSWER_WITHIN_MS, () => driver.destroy(), signal));
  } finally {
    driver.destroy();
  }
}

function addressIn(answer: unknown): Address {
  if (!Array.isArray(answer)) throw new Error("it does not know this name");
  const [host, port]: readonly unknown[] = answer;
  if (typeof host !== "string" || typeof port !== "string") throw new Error("its answer is no address");
  return { host, port: Number(port) };
}
