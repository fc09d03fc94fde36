import { createHash } from "node:crypto";
import type { LockRedis } from "../config.ts";
import { messageOf, oneLine } from "../../../kernel/text/escape.ts";
import type { Log } from "../../../kernel/text/log.ts";
import type { Clock } from "../../../kernel/time/clock.ts";
import { openDriver, type RedisDriver, type RedisDriverParts } from "./driver.ts";
import { missingIn } from "./requirements.ts";

export type RedisParts = RedisDriverParts & {
  readonly clock: Clock;
  readonly log: Log;
  /** What Redis says in an error may hold the password. */
  readonly withoutKeys: (text: string) => string;
  /** How long one command may take. */
  readonly deadlineMs: number;
};

/** One atomic script. */
export type RedisScript = { readonly body: string; readonly sha: string };

export function redisScript(body: string): RedisScript {
  return { body, sha: createHash("sha1").update(body).digest("hex") };
}

const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 1_000;
/** So long after the last trouble it is well again: one that comes and goes is told of once. */
const WELL_AFTER_MS = 30_000;

const LOST = "Redis unreachable";

/** One Redis, wherever it is now. Reconnects by itself, and callers never wait for that. */
export class Redis implements AsyncDisposable {
  readonly #redis: LockRedis;
  readonly #parts: RedisParts;
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  #driver: RedisDriver | undefined;
  #lastReplyMs = 0;
  #backoffMs = FIRST_BACKOFF_MS;
  #isWell = false;
  #troubleAtMs = Number.NEGATIVE_INFINITY;
  /** Kinds of trouble since it was well. */
  readonly #told = new Set<string>();
  readonly #warned = new Set<string>();

  constructor(redis: LockRedis, parts: RedisParts) {
    this.#redis = redis;
    this.#parts = parts;
    this.#ended = this.#keepConnected();
  }

  /** Rejects without a good answer in time. It may have been run all the same. */
  async run({ body, sha }: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const driver = this.#driver;
    if (driver === undefined) throw new Error("Redis is not connected");
    const rest = [String(keys.length), ...keys, ...args];
    try {
      // A server is sent the whole script only if it does not know it.
      const reply = await this.#send(driver, ["EVALSHA", sha, ...rest]).catch((error: unknown) => {
        if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
        return this.#send(driver, ["EVAL", body, ...rest]);
      });
      this.#answered();
      return reply;
    } catch (error) {
      this.#failed(driver, error);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#driver?.destroy();
    await this.#ended;
  }

  /** A command that is not written in time must never be. */
  async #send(driver: RedisDriver, command: readonly string[]): Promise<unknown> {
    const late = AbortSignal.timeout(this.#parts.deadlineMs);
    const { promise, reject } = Promise.withResolvers<never>();
    late.addEventListener("abort", () => reject(new Error("no answer in time")), { once: true });
    return await Promise.race([driver.send(command, late), promise]);
  }

  #answered(): void {
    const nowMs = this.#parts.clock.now();
    this.#lastReplyMs = nowMs;
    this.#backoffMs = FIRST_BACKOFF_MS;
    if (this.#isWell || nowMs - this.#troubleAtMs < WELL_AFTER_MS) return;
    this.#isWell = true;
    this.#told.clear();
    this.#parts.log.info({}, "Redis connected");
  }

  #failed(driver: RedisDriver, error: unknown): void {
    const problem = messageOf(error);
    const code = /^[A-Z]{3,}\b/.exec(problem)?.[0];
    const nowMs = this.#parts.clock.now();
    if (code !== undefined) this.#lastReplyMs = nowMs;
    // Without the details of a refusal, of which each command has others: the key, the script.
    this.#tell(code === undefined ? LOST : "Redis command failed", problem, code ?? "");
    const isSilent = nowMs - this.#lastReplyMs >= this.#parts.deadlineMs;
    // It is no longer, or not yet, the master; or the connection leads nowhere. Another one may be better.
    if (isSilent || /^(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED)$/.test(code ?? "")) driver.destroy();
  }

  /** Only we reconnect: the library would send commands again. */
  async #keepConnected(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const driver = await openDriver(this.#redis, this.#parts, signal);
        this.#driver = driver;
        this.#lastReplyMs = clock.now();
        if (signal.aborted) driver.destroy();
        else await this.#warnOfWhatIsMissing(driver);
        await driver.ended;
        if (!signal.aborted) this.#tell(LOST, "the connection was lost", "");
      } catch (error) {
        const problem = messageOf(error);
        if (!signal.aborted) this.#tell("cannot connect to Redis", problem, problem);
      }
      this.#driver = undefined;
      await clock.sleep(this.#backoffMs, signal);
      this.#backoffMs = Math.min(LONGEST_BACKOFF_MS, this.#backoffMs * 2);
    }
  }

  /** With each new connection, as it may lead to another server. Each warning is given once. */
  async #warnOfWhatIsMissing(driver: RedisDriver): Promise<void> {
    const warnings = await Promise.race([missingIn(driver), driver.ended.then(() => [])]);
    for (const warning of warnings) {
      if (this.#warned.has(warning)) continue;
      this.#warned.add(warning);
      this.#parts.log.warn({}, warning);
    }
  }

  #tell(message: string, problem: string, kind: string): void {
    this.#isWell = false;
    this.#troubleAtMs = this.#parts.clock.now();
    const known = `${message} ${kind.slice(0, 100)}`;
    // A server that invents another error each time would fill the log.
    if (this.#told.has(known) || this.#told.size > 20) return;
    this.#told.add(known);
    this.#parts.log.warn({ problem: oneLine(this.#parts.withoutKeys(problem)) }, message);
  }
}
