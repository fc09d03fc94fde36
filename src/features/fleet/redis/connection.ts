import { createClient } from "@redis/client";
import type { Address } from "../../../kernel/config/config.ts";
import { messageOf, oneLine } from "../../../kernel/text/escape.ts";
import type { Log } from "../../../kernel/text/log.ts";
import type { Clock } from "../../../kernel/time/clock.ts";
import { readRegularText } from "../../../platform/regular-file.ts";
import type { LockRedis } from "../config.ts";
import { missingIn } from "./requirements.ts";

export type RedisParts = {
  /** Read for every connection, as passwords rotate. */
  readonly password: (() => string | Promise<string>) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** What Redis says in an error may hold the password. */
  readonly withoutKeys: (text: string) => string;
  /** How long one command may take. */
  readonly deadlineMs: number;
};

const CONNECT_WITHIN_MS = 2_000;
const SENTINEL_ANSWERS_WITHIN_MS = 2_000;
const SERVER_ANSWERS_WITHIN_MS = 4_000;
/** So long after the last trouble it is well again: one that comes and goes is told of once. */
const WELL_AFTER_MS = 30_000;
const LOST = "Redis unreachable";

/** One Redis, wherever it is now. A command that finds no connection begins one, and whoever asks again shares it. */
export class Redis implements AsyncDisposable {
  readonly #redis: LockRedis;
  readonly #parts: RedisParts;
  readonly #closing = new AbortController();
  #connection: Promise<Client> | undefined;
  /** The last one; undefined while it is well. */
  #troubleAtMs: number | undefined = Number.NEGATIVE_INFINITY;
  /** Kinds of trouble since it was well. */
  readonly #told = new Set<string>();
  readonly #warned = new Set<string>();

  constructor(redis: LockRedis, parts: RedisParts) {
    this.#redis = redis;
    this.#parts = parts;
  }

  /** One atomic script. Rejects without a good answer in time. It may have been run all the same. */
  async run(script: string, key: string, ...args: readonly string[]): Promise<unknown> {
    // A command that is not written in time must never be.
    const late = AbortSignal.timeout(Math.floor(this.#parts.deadlineMs));
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    late.addEventListener("abort", () => reject(new Error("no answer in time")), { once: true });
    const client = await Promise.race([(this.#connection ??= this.#connect()), tooLate]);
    try {
      const asked = client.sendCommand(["EVAL", script, "1", key, ...args], { abortSignal: late });
      const reply: unknown = await Promise.race([asked, tooLate]);
      this.#answered();
      return reply;
    } catch (error) {
      this.#failed(client, messageOf(error));
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const client = await this.#connection?.catch(() => undefined);
    if (client?.isOpen === true) client.destroy();
  }

  /** It is not opened again by itself: the library would send commands a second time. */
  async #connect(): Promise<Client> {
    const { signal } = this.#closing;
    try {
      const client = await connectionOf(this.#redis, this.#parts, signal);
      const own = this.#connection;
      const ended = (): void => {
        if (this.#connection !== own) return;
        this.#connection = undefined;
        if (!signal.aborted) this.#tell(LOST, "the connection was lost", "");
      };
      client.on("error", ended).on("end", ended);
      // It may lead to another server. Each warning is given once.
      void missingIn((command) => client.sendCommand([...command])).then((warnings) => {
        for (const warning of warnings) if (!this.#warned.has(warning)) this.#parts.log.warn({}, warning);
        for (const warning of warnings) this.#warned.add(warning);
      });
      return client;
    } catch (error) {
      this.#connection = undefined;
      const problem = messageOf(error);
      if (!signal.aborted) this.#tell("cannot connect to Redis", problem, problem);
      throw error;
    }
  }

  #answered(): void {
    const { clock, log } = this.#parts;
    if (this.#troubleAtMs === undefined || clock.now() - this.#troubleAtMs < WELL_AFTER_MS) return;
    this.#troubleAtMs = undefined;
    this.#told.clear();
    log.info({}, "Redis connected");
  }

  #failed(client: Client, problem: string): void {
    const code = /^[A-Z]{3,}\b/.exec(problem)?.[0];
    // Without the details of a refusal, of which each command has others: the key, the script.
    this.#tell(code === undefined ? LOST : "Redis command failed", problem, code ?? "");
    // It is no longer, or not yet, the master; or the connection leads nowhere. Another one may be better.
    const isOfNoUse = code === undefined || /^(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED)$/.test(code);
    if (isOfNoUse && client.isOpen) {
      this.#connection = undefined;
      client.destroy();
    }
  }

  #tell(message: string, problem: string, kind: string): void {
    this.#troubleAtMs = this.#parts.clock.now();
    const known = `${message} ${kind.slice(0, 100)}`;
    // A server that invents another error each time would fill the log.
    if (this.#told.has(known) || this.#told.size > 20) return;
    this.#told.add(known);
    this.#parts.log.warn({ problem: oneLine(this.#parts.withoutKeys(problem)) }, message);
  }
}

/** Files and the password are read again each time, and sentinels are asked again. */
async function connectionOf(
  { nodes, username, tls }: LockRedis,
  { password }: Pick<RedisParts, "password">,
  signal: AbortSignal,
): Promise<Client> {
  const socket = {
    connectTimeout: CONNECT_WITHIN_MS,
    reconnectStrategy: false,
    ...(tls && (await tlsOf(tls))),
  } as const;
  const secret = await password?.();
  const common = {
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
  } as const;
  const at = ({ host, port }: Address): Options => ({ ...common, socket: { ...socket, host, port } });
  const access = {
    ...(username !== undefined && { username }),
    ...(secret !== undefined && { password: secret }),
  };
  const place =
    nodes.kind === "single"
      ? { ...common, url: nodes.url, socket }
      : at(
          await masterOf(nodes.master, nodes.nodes, (sentinel, ask) =>
            connected(at(sentinel), SENTINEL_ANSWERS_WITHIN_MS, signal, ask),
          ),
        );
  return connected({ ...place, ...access }, SERVER_ANSWERS_WITHIN_MS, signal, (client) =>
    Promise.resolve(client),
  );
}

type Options = NonNullable<Parameters<typeof createClient>[0]>;
type Client = ReturnType<typeof createClient>;

/** Without an answer in time, or with a bad one, the connection is given up. */
async function connected<Result>(
  options: Options,
  mostMs: number,
  signal: AbortSignal,
  act: (client: Client) => Promise<Result>,
): Promise<Result> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(mostMs)]);
  late.throwIfAborted();
  const client = createClient(options);
  // Without a listener an error would end the process. The commands themselves are rejected.
  client.on("error", () => {});
  const end = (): void => {
    if (client.isOpen) client.destroy();
  };
  late.addEventListener("abort", end, { once: true });
  try {
    await client.connect();
    return await act(client);
  } catch (error) {
    end();
    throw error;
  } finally {
    late.removeEventListener("abort", end);
  }
}

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

/** The current master, by the first sentinel that knows it. */
async function masterOf(
  name: string,
  sentinels: readonly Address[],
  asked: (sentinel: Address, ask: (client: Client) => Promise<Address>) => Promise<Address>,
): Promise<Address> {
  let problem = "no sentinel was asked";
  for (const sentinel of sentinels) {
    try {
      return await asked(sentinel, async (client) => {
        const answer = await client.sendCommand(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
        client.destroy();
        return addressIn(answer);
      });
    } catch (error) {
      problem = messageOf(error);
    }
  }
  throw new Error(`cannot find the master: no sentinel knows "${name}": ${problem}`);
}

function addressIn(answer: unknown): Address {
  if (!Array.isArray(answer)) throw new Error("it does not know this name");
  const [host, port]: readonly unknown[] = answer;
  if (typeof host !== "string" || typeof port !== "string") throw new Error("its answer is no address");
  return { host, port: Number(port) };
}
