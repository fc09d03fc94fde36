import {
  PUBLISHED_KEPT_MS,
  type BeatAnswer,
  type BeatRequest,
  type Caller,
  type ClaimAnswer,
  type ClaimRequest,
  type FleetBoard,
  type ReleaseAnswer,
  type ReleaseRequest,
} from "../../core/fleet/board.ts";
import type { Redis } from "./connection.ts";
import { readLua, redisScript, type RedisScript } from "./script.ts";

/** Tests replace the `clock`. */
export type RedisFleetOptions = { readonly prefix: string; readonly clock?: string };

type Args = readonly (string | number)[];

const LUA = new URL("board/", import.meta.url);

/** The board of a fleet in Redis. Each call is one script, so it is atomic. */
export class RedisFleetBoard implements FleetBoard {
  readonly #redis: Pick<Redis, "run">;
  readonly #keys: readonly string[];
  readonly #statusKeys: readonly [states: string, publishedAt: string];
  readonly #scripts: Readonly<Record<"beat" | "claim" | "release" | "publish" | "published", RedisScript>>;

  constructor(redis: Pick<Redis, "run">, { prefix, clock }: RedisFleetOptions) {
    this.#redis = redis;
    const key = (name: string): string => `${prefix}:{fleet}:${name}`;
    this.#keys = ["epoch", "sessions", "members", "holders", "changes", "trials"].map(key);
    this.#statusKeys = [key("states"), key("published")];
    this.#scripts = {
      beat: redisScript("beat", readLua(LUA, "enter", "beat"), clock),
      claim: redisScript("claim", readLua(LUA, "enter", "claim"), clock),
      release: redisScript("release", readLua(LUA, "enter", "release"), clock),
      publish: redisScript("publish", readLua(LUA, "publish"), clock),
      published: redisScript("published", readLua(LUA, "published"), clock),
    };
  }

  async beat(request: BeatRequest): Promise<BeatAnswer> {
    const { joins, info, epoch, version, mostChanges } = request;
    const answer = await this.#ask("beat", request, [flag(joins), info, epoch, version, mostChanges]);
    if (answer.kind !== "beat")
      return answer.kind === "lost" ? { ...momentOf(answer), kind: "lost" } : noAnswer(answer);
    const [opensIn, live, isWhole, changes, upTo, hasMore] = answer.rest;
    return {
      ...momentOf(answer),
      kind: "beat",
      opensInMs: numberOf(opensIn),
      sessions: inFours(listOf(live)).map(([session, endsIn, info, trialEndsIn]) => ({
        session,
        endsInMs: Number(endsIn),
        info,
        trialEndsInMs: Number(trialEndsIn),
      })),
      isWhole: isWhole === "1",
      changes: inPairs(listOf(changes)).map(([upstream, holder]) => ({
        upstream,
        holder: holder === "" ? undefined : holder,
      })),
      version: numberOf(upTo),
      hasMore: hasMore === "1",
    };
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    const { retakes, inherits, upstreams } = request;
    const answer = await this.#ask("claim", request, [flag(retakes), flag(inherits), ...upstreams]);
    const [first] = answer.rest;
    switch (answer.kind) {
      case "claimed":
        return {
          ...momentOf(answer),
          kind: "claimed",
          claimed: inPairs(listOf(first)).map(([upstream, unheld]) => ({
            upstream,
            unheldMs: unheld === "" ? undefined : Number(unheld),
          })),
        };
      case "settling":
        return { ...momentOf(answer), kind: "settling", opensInMs: numberOf(first) };
      case "lost":
        return { ...momentOf(answer), kind: "lost" };
      default:
        return noAnswer(answer);
    }
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    const answer = await this.#ask("release", request, [flag(request.endsSession), ...request.upstreams]);
    return answer.kind === "released" ? { ...momentOf(answer), kind: "released" } : noAnswer(answer);
  }

  async publish(entries: ReadonlyMap<string, string>): Promise<boolean> {
    const args = [PUBLISHED_KEPT_MS, ...[...entries].flat()];
    const reply = await this.#redis.run(this.#scripts.publish, this.#statusKeys, args);
    return reply.kind === "reply";
  }

  async published(): Promise<ReadonlyMap<string, string> | undefined> {
    const reply = await this.#redis.run(this.#scripts.published, [this.#statusKeys[0]], []);
    return reply.kind === "reply" ? new Map(inPairs(listOf(reply.value))) : undefined;
  }

  async #ask(call: "beat" | "claim" | "release", caller: Caller, args: Args): Promise<Answer> {
    const { session, ttlMs, expectedMs = -1, isStepSure } = caller;
    const all = [session, ttlMs, expectedMs, flag(isStepSure), ...args];
    const reply = await this.#redis.run(this.#scripts[call], this.#keys, all);
    if (reply.kind === "failed" || !Array.isArray(reply.value)) return { kind: "away", rest: [] };
    const [kind, serverMs, epoch, ...rest]: readonly unknown[] = reply.value;
    return { kind: String(kind), serverMs: numberOf(serverMs), epoch: String(epoch), rest };
  }
}

type Answer = {
  readonly kind: string;
  readonly serverMs?: number;
  readonly epoch?: string;
  readonly rest: readonly unknown[];
};

function momentOf({ serverMs = 0, epoch = "" }: Answer): {
  readonly serverMs: number;
  readonly epoch: string;
} {
  return { serverMs, epoch };
}

function noAnswer({ kind }: Answer): { readonly kind: "away" } | { readonly kind: "stepped" } {
  return kind === "stepped" ? { kind: "stepped" } : { kind: "away" };
}

function flag(value: boolean): string {
  return value ? "1" : "0";
}

function numberOf(value: unknown): number {
  return Number(value);
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function inPairs(list: readonly string[]): readonly (readonly [string, string])[] {
  return list.flatMap((item, index) => (index % 2 === 0 ? [[item, list[index + 1] ?? ""] as const] : []));
}

function inFours(list: readonly string[]): readonly (readonly [string, string, string, string])[] {
  return list.flatMap((item, index) =>
    index % 4 === 0
      ? [[item, list[index + 1] ?? "", list[index + 2] ?? "", list[index + 3] ?? ""] as const]
      : [],
  );
}
