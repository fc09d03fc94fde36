import type { Fleet } from "../../core/config/config.ts";
import { messageOf, oneLine } from "../../core/text/escape.ts";
import type { Log } from "../../core/text/log.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { RedisFailure } from "../../core/metrics/accounts.ts";
import { RedisHealth } from "../../core/fleet/redis-health.ts";
import { AnswerTooLong } from "./answer-size.ts";
import { openDriver, type RedisDriver, type RedisDriverParts } from "./driver.ts";
import { missingIn } from "./requirements.ts";
import { redisScript, type RedisScript } from "./script.ts";

/** One call to Redis and its outcome, for the metrics. */
export type RedisCall = {
  readonly call: string;
  readonly durationMs: number;
  readonly failure: RedisFailure | undefined;
};

export type RedisReply =
  | { readonly kind: "reply"; readonly value: unknown }
  /** Redis may have run it all the same: only the answer is missing. */
  | { readonly kind: "failed"; readonly failure: RedisFailure };

export type RedisParts = RedisDriverParts & {
  readonly clock: Clock;
  readonly log: Log;
  /** What Redis says in an error may hold the password. */
  readonly withoutKeys: (text: string) => string;
  readonly onCall: (call: RedisCall) => void;
};

const DEADLINE_MS = 500;
const IDLE_MS = 1_000;
/** A connection that has not answered for this long is replaced by a new one. */
const SILENCE_MS = 2_000;
const FIRST_BACKOFF_MS = 50;
const LONGEST_BACKOFF_MS = 1_000;

/** A write: a Redis that lacks replicas, memory or a master answers PING, and refuses everything that matters. */
const PING = redisScript(
  "ping",
  "redis.call('HSET', KEYS[1], 'at', num(now))\nreturn redis.call('PEXPIRE', KEYS[1], 60000)",
);

/** One Redis, wherever it is now. Reconnects by itself, and callers never wait for that. */
export class Redis implements AsyncDisposable {
  readonly #fleet: Fleet;
  readonly #parts: RedisParts;
  readonly #listeners: ((isUp: boolean) => void)[] = [];
  readonly #closing = new AbortController();
  readonly #ended: Promise<unknown>;
  #driver: RedisDriver | undefined;
  readonly #health = new RedisHealth();
  readonly #warned = new Set<string>();
  #lastReplyMs: number;
  #lastAskedMs: number;

  constructor(fleet: Fleet, parts: RedisParts) {
    this.#fleet = fleet;
    this.#parts = parts;
    this.#lastReplyMs = this.#lastAskedMs = parts.clock.now();
    this.#ended = Promise.all([this.#keepConnected(), this.#keepPinging()]);
  }

  /** Whether it answers every call, writes included. */
  get isUp(): boolean {
    return this.#health.isUp;
  }

  onChange(listener: (isUp: boolean) => void): void {
    this.#listeners.push(listener);
  }

  /** Never rejects, and never takes longer than the deadline. The first key selects the node of a cluster. */
  async run(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<RedisReply> {
    const { clock, onCall } = this.#parts;
    const askedMs = clock.now();
    this.#lastAskedMs = askedMs;
    const driver = this.#driver;
    const reply =
      driver === undefined
        ? ({ kind: "failed", failure: "away" } as const)
        : await this.#inTime(driver, (signal) => evaluate(driver, script, keys, args, signal));
    const failure = reply.kind === "failed" ? reply.failure : undefined;
    onCall({ call: script.call, durationMs: clock.now() - askedMs, failure });
    if (failure !== undefined && driver === this.#driver) this.#setDown(failure);
    return reply;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#driver?.destroy();
    await this.#ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #inTime(driver: RedisDriver, send: (signal: AbortSignal) => Promise<unknown>): Promise<RedisReply> {
    const deadline = new AbortController();
    const late = Promise.withResolvers<RedisReply>();
    const timer = setTimeout(() => {
      late.resolve({ kind: "failed", failure: "timeout" });
      // A command that is not written yet must never be.
      deadline.abort();
    }, DEADLINE_MS);
    const answered = send(deadline.signal).then(
      (value): RedisReply => {
        this.#lastReplyMs = this.#parts.clock.now();
        return { kind: "reply", value };
      },
      (error: unknown): RedisReply => this.#failed(driver, error),
    );
    const reply = await Promise.race([answered, late.promise]);
    clearTimeout(timer);
    return reply;
  }

  #failed(driver: RedisDriver, error: unknown): RedisReply {
    const failure = failureOf(error);
    if (error instanceof AnswerTooLong) this.#warnOnce("Redis command failed", error.message, "too long");
    if (failure === "refused") {
      this.#lastReplyMs = this.#parts.clock.now();
      const problem = messageOf(error);
      // Without its details, of which each command has others: the key, the script, the slot.
      this.#warnOnce("Redis command failed", problem, problem.split(" ", 1).join());
      if (isFailover(error)) driver.destroy();
    }
    return { kind: "failed", failure };
  }

  #setUp(): void {
    if (!this.#health.wrote(this.#parts.clock.now())) return;
    this.#parts.log.info({}, "Redis connected");
    for (const listener of this.#listeners) listener(true);
  }

  #setDown(failure: RedisFailure): void {
    if (!this.#health.failed(failure === "away", this.#parts.clock.now())) return;
    // What it refused, and why, is told already.
    const isSilent = failure !== "refused" && !this.#closing.signal.aborted;
    if (isSilent && this.#health.isNews("unreachable")) this.#parts.log.warn({}, "Redis unreachable");
    for (const listener of this.#listeners) listener(false);
  }

  /** Only we reconnect: the library would send commands again. */
  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    let backoffMs = FIRST_BACKOFF_MS;
    while (!signal.aborted) {
      const driver = await this.#connect();
      if (driver !== undefined) {
        this.#driver = driver;
        this.#lastReplyMs = this.#parts.clock.now();
        if (signal.aborted) driver.destroy();
        else if (await this.#ping()) {
          backoffMs = FIRST_BACKOFF_MS;
          await this.#warnOfWhatIsMissing(driver);
        }
        await driver.ended;
        this.#driver = undefined;
        this.#setDown("away");
      }
      await this.#parts.clock.sleep(backoffMs, signal);
      backoffMs = Math.min(LONGEST_BACKOFF_MS, backoffMs * 2);
    }
  }

  async #connect(): Promise<RedisDriver | undefined> {
    try {
      return await openDriver(this.#fleet.redis, this.#parts, this.#closing.signal);
    } catch (error) {
      const problem = messageOf(error);
      if (!this.#closing.signal.aborted) this.#warnOnce("cannot connect to Redis", problem, problem);
      return undefined;
    }
  }

  /** Pings when there are no other calls, and while it is down: so `isUp` stays current. */
  async #keepPinging(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await clock.sleep(this.isUp ? IDLE_MS : IDLE_MS / 4, signal);
      const driver = this.#driver;
      if (driver === undefined || signal.aborted) continue;
      const nowMs = clock.now();
      if (!this.isUp && nowMs - this.#lastReplyMs > SILENCE_MS) driver.destroy();
      else if (!this.isUp || nowMs - this.#lastAskedMs >= IDLE_MS) await this.#ping();
    }
  }

  async #ping(): Promise<boolean> {
    const { kind } = await this.run(PING, [this.#pingKey], []);
    if (kind === "reply") this.#setUp();
    return kind === "reply";
  }

  /** With each new connection, as it may lead to another server. Each warning is given once. */
  async #warnOfWhatIsMissing(driver: RedisDriver): Promise<void> {
    const { nodes } = this.#fleet.redis;
    const ended = driver.ended.then(() => []);
    const warnings = await Promise.race([missingIn(driver, this.#pingKey, nodes.kind === "cluster"), ended]);
    for (const warning of warnings) {
      if (this.#warned.has(warning)) continue;
      this.#warned.add(warning);
      this.#parts.log.warn({}, warning);
    }
  }

  get #pingKey(): string {
    return `${this.#fleet.prefix}:{fleet}:ping`;
  }

  #warnOnce(message: string, problem: string, kind: string): void {
    if (!this.#health.isNews(`${message} ${kind}`)) return;
    this.#parts.log.warn({ problem: oneLine(this.#parts.withoutKeys(problem)) }, message);
  }
}

/** A server is sent the whole script only if it does not know it. */
async function evaluate(
  driver: RedisDriver,
  { sha, body }: RedisScript,
  keys: readonly string[],
  args: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await driver.send(keys[0], ["EVALSHA", sha, ...rest], signal);
  } catch (error) {
    if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
    return await driver.send(keys[0], ["EVAL", body, ...rest], signal);
  }
}

function failureOf(error: unknown): RedisFailure {
  if (!(error instanceof Error)) return "away";
  if (error.name === "AbortError") return "timeout";
  return isErrorReply(error) ? "refused" : "away";
}

/** This server is no longer, or not yet, the master. Another one may be. */
function isFailover(error: unknown): boolean {
  return /^(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED)\b/.test(messageOf(error));
}

/** An error reply begins with a word in capitals. */
function isErrorReply(error: Error): boolean {
  return /^[A-Z]{3,}\b/.test(error.message);
}
