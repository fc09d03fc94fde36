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
const CALLS = ["beat", "claim", "release", "tell", "records"] as const;
type Call = (typeof CALLS)[number];

/** In the order in which the scripts expect them. */
const KEYS = ["clock", "sessions", "members", "holders", "starts", "pauses", "records", "parts"] as const;

const AWAY = { kind: "away" } as const;

/** The board of a fleet in Redis. Each call is one script, so it is atomic. */
export class RedisFleetBoard implements FleetBoard {
  readonly #redis: Pick<Redis, "run">;
  readonly #keys: readonly string[];
  readonly #quota: (budget: string) => string;
  readonly #scripts: ReadonlyMap<Call, RedisScript>;
  readonly #draw: RedisScript;

  constructor(redis: Pick<Redis, "run">, { prefix, clock }: RedisFleetOptions) {
    this.#redis = redis;
    // One hash tag: all of it is on one node of a cluster.
    const place = `${prefix}:{fleet}`;
    // The last one is that of the version before this one, which had only one.
    this.#keys = [...KEYS.map((key) => `${place}:${BOARD_VERSION}:${key}`), `${place}:sessions`];
    this.#quota = (budget) => `${place}:${BOARD_VERSION}:quota:${budget}`;
    this.#scripts = new Map(
      CALLS.map((call) => [call, redisScript(call, readLua(LUA, "enter", call), clock)]),
    );
    this.#draw = redisScript("draw", readLua(LUA, "draw"), clock);
  }

  async beat({ session, ttlMs, answeredAgoMs, info, version, wants }: BeatRequest): Promise<BeatAnswer> {
    const answer = await this.#ask("beat", {
      session,
      ttl: ttlMs,
      answeredAgo: answeredAgoMs ?? -1,
      info,
      version,
      wants: wants && {
        seat: wants.seat,
        rest: wants.rest,
        hasSeat: wants.has.seat,
        hasRest: wants.has.rest,
        forgotten: wants.forgottenMs,
      },
    });
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

  async claim({ session, ttlMs, groups, retakes }: ClaimRequest): Promise<ClaimAnswer> {
    const asked = new Set(groups.flatMap(({ names }) => names));
    const answer = await this.#ask("claim", {
      session,
      ttl: ttlMs,
      retakes,
      groups: groups.map(({ names, budgets }) => ({
        names,
        budgets: budgets.map(({ budget, coldMs, forgottenMs, terms, waitMs }) => ({
          budget,
          cold: coldMs,
          forgotten: forgottenMs,
          terms,
          wait: waitMs,
        })),
      })),
    });
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

  async release({
    session,
    ttlMs,
    names,
    leasesEndInMs,
    endsSession,
  }: ReleaseRequest): Promise<ReleaseAnswer> {
    const asked = { session, ttl: ttlMs, names, leasesEndIn: leasesEndInMs, endsSession };
    const answer = await this.#ask("release", asked);
    return answer["kind"] === "released" ? { kind: "released" } : AWAY;
  }

  async tell({ ttlMs, pauses, resumed, records }: News): Promise<boolean> {
    const answer = await this.#ask("tell", {
      ttl: ttlMs,
      pauses: [...pauses],
      resumed,
      records: [...records],
    });
    return answer["kind"] === "told";
  }

  async records(): Promise<ReadonlyMap<string, string> | undefined> {
    const answer = await this.#ask("records", { ttl: 0 });
    return answer["kind"] === "records" ? new Map(pairsIn(answer["records"], textOf)) : undefined;
  }

  async draw({ budget, name, limit, oldestHour, used, upTo }: DrawRequest): Promise<DrawAnswer> {
    const counts = used.map(({ hour, count, drawn }) => [hour, count, drawn ?? -1]);
    const asked = { name, limit, oldest: oldestHour, used: counts, upTo: [...upTo] };
    const reply = await this.#redis.run(this.#draw, [this.#quota(budget)], [JSON.stringify(asked)]);
    const answer = reply.kind === "failed" ? {} : readObject(textOf(reply.value));
    const total = known(numberIn(answer["total"]));
    if (answer["kind"] !== "drawn" || total === undefined) return AWAY;
    const own = listOf(answer["own"])
      .map(listOf)
      .map(([hour, count]) => [amountOf(hour), amountOf(numberIn(count))] as const);
    return { kind: "drawn", own: new Map(own), total };
  }

  async #ask(call: Call, asked: object): Promise<Readonly<Record<string, unknown>>> {
    const script = this.#scripts.get(call);
    if (script === undefined) throw new Error(`cannot ask the board: "${call}" must be one of its calls`);
    const reply = await this.#redis.run(script, this.#keys, [JSON.stringify(asked)]);
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
