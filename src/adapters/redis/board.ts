import type {
  BeatAnswer,
  BeatRequest,
  ClaimAnswer,
  ClaimRequest,
  DrawAnswer,
  DrawRequest,
  FleetBoard,
  News,
  ReleaseAnswer,
  ReleaseRequest,
} from "../../core/fleet/board.ts";
import { readObject } from "../../core/fleet/member.ts";
import type { Redis } from "./connection.ts";
import { readLua, redisScript, type RedisScript } from "./script.ts";

/** Tests replace the `clock`. */
export type RedisFleetOptions = { readonly prefix: string; readonly clock?: string };

/** Of what is kept. Replicas of different versions must never read each other's boards. */
const BOARD_VERSION = 2;

const LUA = new URL("board/", import.meta.url);
type Call = "beat" | "claim" | "release" | "tell" | "records" | "draw";

/** In the order in which the scripts expect them. */
const KEYS = ["clock", "sessions", "members", "holders", "starts", "pauses", "records", "parts"] as const;

const AWAY = { kind: "away" } as const;

/** The board of a fleet in Redis. Each call is one script, so it is atomic. */
export class RedisFleetBoard implements FleetBoard {
  readonly #redis: Pick<Redis, "run">;
  readonly #keys: readonly string[];
  readonly #quota: (budget: string) => string;
  readonly #scripts: Readonly<Record<Call, RedisScript>>;

  constructor(redis: Pick<Redis, "run">, { prefix, clock }: RedisFleetOptions) {
    this.#redis = redis;
    // One hash tag: all of it is on one node of a cluster.
    const place = `${prefix}:{fleet}`;
    // The last one is that of the version before this one, which had only one.
    this.#keys = [...KEYS.map((key) => `${place}:${BOARD_VERSION}:${key}`), `${place}:sessions`];
    this.#quota = (budget) => `${place}:${BOARD_VERSION}:quota:${budget}`;
    const script = (call: Call, ...before: readonly string[]): RedisScript =>
      redisScript(call, readLua(LUA, ...before, call), clock);
    this.#scripts = {
      beat: script("beat", "enter"),
      claim: script("claim", "enter"),
      release: script("release", "enter"),
      tell: script("tell", "enter"),
      records: script("records", "enter"),
      draw: script("draw"),
    };
  }

  async beat(request: BeatRequest): Promise<BeatAnswer> {
    const { wants } = request;
    const answer = await this.#ask("beat", request);
    if (answer["kind"] === "lost") return { kind: "lost" };
    if (answer["kind"] !== "beat") return AWAY;
    const { holders, granted } = answer;
    const [hasSeat, hasRest, isAnew, isMixed] = listOf(granted);
    return {
      kind: "beat",
      wallMs: amountOf(answer["wall"]),
      opensInMs: amountOf(answer["opensIn"]),
      isOlderAlive: answer["isOlderAlive"] === true,
      version: textOf(answer["version"]),
      sessions: listOf(answer["sessions"])
        .map(listOf)
        .map(([session, endsIn, proven, info]) => ({
          session: textOf(session),
          endsInMs: amountOf(endsIn),
          provenMs: known(proven),
          info: textOf(info),
        })),
      holders: holders === undefined ? undefined : new Map(pairsIn(holders, textOf)),
      pauses: new Map(pairsIn(answer["pauses"], amountOf)),
      granted:
        granted === undefined || wants === undefined
          ? undefined
          : {
              seat: hasSeat === true ? wants.seat : 0,
              rest: hasRest === true ? wants.rest : 0,
              isAnew: isAnew === true,
              isMixed: isMixed === true,
            },
    };
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    const asked = new Set(request.groups.flatMap(({ names }) => names));
    const answer = await this.#ask("claim", request);
    switch (answer["kind"]) {
      case "claimed":
        return {
          kind: "claimed",
          claimed: listOf(answer["claimed"])
            .map(listOf)
            .map(([name, unheld, wait, agoMs, text]) => ({
              name: textOf(name),
              unheldMs: known(unheld),
              // No number at all must not be taken for no wait.
              waitMs: known(wait) ?? Infinity,
              record: known(agoMs) === undefined ? undefined : { text: textOf(text), agoMs: amountOf(agoMs) },
            }))
            .filter(({ name }) => asked.has(name)),
        };
      case "settling":
        return { kind: "settling", opensInMs: amountOf(answer["opensIn"]) };
      case "lost":
        return { kind: "lost" };
      default:
        return AWAY;
    }
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    const answer = await this.#ask("release", request);
    return answer["kind"] === "released" ? { kind: "released" } : AWAY;
  }

  async tell(news: News): Promise<boolean> {
    const answer = await this.#ask("tell", news);
    return answer["kind"] === "told";
  }

  async records(): Promise<ReadonlyMap<string, string> | undefined> {
    const answer = await this.#ask("records", { ttlMs: 0 });
    return answer["kind"] === "records" ? new Map(pairsIn(answer["records"], textOf)) : undefined;
  }

  async draw(request: DrawRequest): Promise<DrawAnswer> {
    const answer = await this.#ask("draw", request, [this.#quota(request.budget)]);
    const total = known(numberIn(answer["total"]));
    if (answer["kind"] !== "drawn" || total === undefined) return AWAY;
    const own = listOf(answer["own"])
      .map(listOf)
      .map(([hour, count]) => [amountOf(hour), amountOf(numberIn(count))] as const);
    return { kind: "drawn", own: new Map(own), total };
  }

  /** The scripts read the request as it is, a map as the list of its pairs. */
  async #ask(call: Call, request: object, keys = this.#keys): Promise<Readonly<Record<string, unknown>>> {
    const text = JSON.stringify(request, (_, value: unknown) => (value instanceof Map ? [...value] : value));
    const reply = await this.#redis.run(this.#scripts[call], keys, [text]);
    return reply.kind === "failed" ? {} : readObject(textOf(reply.value));
  }
}

/** Nothing that a board invents may reach a timer, which would never rest: what is no duration counts as 0. */
function amountOf(value: unknown): number {
  return known(value) ?? 0;
}

function known(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function numberIn(text: unknown): number {
  return Number.parseFloat(textOf(text));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Redis writes an empty list as an empty object. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function pairsIn<Value>(value: unknown, read: (value: unknown) => Value): [string, Value][] {
  return listOf(value)
    .map(listOf)
    .map(([name, each]): [string, Value] => [textOf(name), read(each)]);
}
