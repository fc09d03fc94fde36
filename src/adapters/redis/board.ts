import type {
  BeatAnswer,
  BeatRequest,
  Caller,
  ClaimAnswer,
  ClaimRequest,
  FleetBoard,
  ReleaseAnswer,
  ReleaseRequest,
} from "../../core/fleet/board.ts";
import type { RedisReply } from "./connection.ts";
import { readLua, redisScript, type RedisScript } from "./script.ts";

/** What of the connection is needed here. */
export type ScriptRunner = {
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<RedisReply>;
};

/** `clock` is another one in tests. */
export type RedisFleetOptions = { readonly prefix: string; readonly clock?: string };

type Args = readonly (string | number)[];

/** The board where the replicas meet, on Redis: every call is one script, so nothing comes between. */
export class RedisFleetBoard implements FleetBoard {
  readonly #redis: ScriptRunner;
  readonly #keys: readonly string[];
  readonly #statusKey: string;
  readonly #scripts: Readonly<Record<"beat" | "claim" | "release" | "publish" | "published", RedisScript>>;

  constructor(redis: ScriptRunner, { prefix, clock }: RedisFleetOptions) {
    this.#redis = redis;
    const key = (name: string): string => `${prefix}:{fleet}:${name}`;
    this.#keys = ["epoch", "sessions", "members", "holders", "changes"].map(key);
    this.#statusKey = key("status");
    this.#scripts = {
      beat: redisScript("beat", readLua("board/enter", "board/beat"), clock),
      claim: redisScript("claim", readLua("board/enter", "board/claim"), clock),
      release: redisScript("release", readLua("board/enter", "board/release"), clock),
      publish: redisScript("publish", readLua("board/publish"), clock),
      published: redisScript("published", readLua("board/published"), clock),
    };
  }

  async beat(request: BeatRequest): Promise<BeatAnswer> {
    const { joins, info, epoch, version, mostChanges } = request;
    const told = await this.#ask("beat", request, [flag(joins), info, epoch, version, mostChanges]);
    if (told.kind !== "beat")
      return told.kind === "lost" ? { ...placeOf(told), kind: "lost" } : noAnswer(told);
    const [opensIn, live, isWhole, changes, upTo, hasMore] = told.rest;
    return {
      ...placeOf(told),
      kind: "beat",
      opensInMs: numberOf(opensIn),
      sessions: inThrees(listOf(live)).map(([session, endsIn, info]) => ({
        session,
        endsInMs: Number(endsIn),
        info,
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
    const told = await this.#ask("claim", request, [flag(retakes), flag(inherits), ...upstreams]);
    const [first] = told.rest;
    switch (told.kind) {
      case "claimed":
        return {
          ...placeOf(told),
          kind: "claimed",
          claimed: inPairs(listOf(first)).map(([upstream, unheld]) => ({
            upstream,
            unheldMs: unheld === "" ? undefined : Number(unheld),
          })),
        };
      case "settling":
        return { ...placeOf(told), kind: "settling", opensInMs: numberOf(first) };
      case "lost":
        return { ...placeOf(told), kind: "lost" };
      default:
        return noAnswer(told);
    }
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    const told = await this.#ask("release", request, [flag(request.endsSession), ...request.upstreams]);
    return told.kind === "released" ? { ...placeOf(told), kind: "released" } : noAnswer(told);
  }

  async publish(entries: ReadonlyMap<string, string>): Promise<boolean> {
    const fields = [...entries].flat();
    const reply = await this.#redis.run(this.#scripts.publish, [this.#statusKey], fields);
    return reply.kind === "reply";
  }

  async published(): Promise<ReadonlyMap<string, string> | undefined> {
    const reply = await this.#redis.run(this.#scripts.published, [this.#statusKey], []);
    return reply.kind === "reply" ? new Map(inPairs(listOf(reply.value))) : undefined;
  }

  async #ask(call: "beat" | "claim" | "release", caller: Caller, args: Args): Promise<Told> {
    const { session, ttlMs, expectedMs = -1, isStepSure } = caller;
    const all = [session, ttlMs, expectedMs, flag(isStepSure), ...args];
    const reply = await this.#redis.run(this.#scripts[call], this.#keys, all);
    if (reply.kind === "failed" || !Array.isArray(reply.value)) return { kind: "away", rest: [] };
    const [kind, serverMs, epoch, ...rest]: readonly unknown[] = reply.value;
    return { kind: String(kind), serverMs: numberOf(serverMs), epoch: String(epoch), rest };
  }
}

type Told = {
  readonly kind: string;
  readonly serverMs?: number;
  readonly epoch?: string;
  readonly rest: readonly unknown[];
};

function placeOf({ serverMs = 0, epoch = "" }: Told): { readonly serverMs: number; readonly epoch: string } {
  return { serverMs, epoch };
}

function noAnswer({ kind }: Told): { readonly kind: "away" } | { readonly kind: "stepped" } {
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

function inThrees(list: readonly string[]): readonly (readonly [string, string, string])[] {
  return list.flatMap((item, index) =>
    index % 3 === 0 ? [[item, list[index + 1] ?? "", list[index + 2] ?? ""] as const] : [],
  );
}
