import { isObject } from "../../core/exchange/json-value.ts";
import {
  type Check,
  flag,
  listOf,
  number,
  objectOf,
  optional,
  readText,
  type Row,
  text,
} from "../../core/exchange/rows.ts";
import type {
  Beat,
  BeatRequest,
  Claimed,
  ClaimRequest,
  Counted,
  CountRequest,
  FleetBoard,
  LiveSession,
  News,
  ReleaseRequest,
} from "../../core/fleet/board.ts";
import type { Redis } from "./connection.ts";
import { readLua, redisScript, type RedisScript } from "./script.ts";

/** Tests replace the `clock`. */
export type RedisFleetOptions = { readonly prefix: string; readonly clock?: string };

/** Of what is kept. Replicas of different versions must never read each other's boards. */
const BOARD_VERSION = 1;

const LUA = new URL("board/", import.meta.url);
type Call = "beat" | "claim" | "release" | "tell" | "records" | "count";

/** In the order in which the scripts expect them. */
const KEYS = ["clock", "sessions", "members", "holders", "starts", "pauses", "records", "parts"] as const;

/** The board of a fleet in Redis. Each call is one script, so it is atomic. */
export class RedisFleetBoard implements FleetBoard {
  readonly #redis: Pick<Redis, "run">;
  readonly #keys: readonly string[];
  readonly #place: string;
  readonly #scripts: Readonly<Record<Call, RedisScript>>;

  constructor(redis: Pick<Redis, "run">, { prefix, clock }: RedisFleetOptions) {
    this.#redis = redis;
    // One hash tag: all of it is on one node of a cluster.
    this.#place = `${prefix}:{fleet}:${BOARD_VERSION}`;
    this.#keys = KEYS.map((key) => `${this.#place}:${key}`);
    const script = (call: Call, ...before: readonly string[]): RedisScript =>
      redisScript(call, readLua(LUA, ...before, call), clock);
    this.#scripts = {
      beat: script("beat", "enter"),
      claim: script("claim", "enter"),
      release: script("release", "enter"),
      tell: script("tell", "enter"),
      records: script("records"),
      count: script("count"),
    };
  }

  beat(request: BeatRequest): Promise<Beat | "lost" | undefined> {
    return this.#ask("beat", request, (answer) => {
      if (answer.get("isLost", optional(flag)) === true) return "lost";
      const granted = answer.get("granted", optional(objectOf(grantIn)));
      const { seat = 0, rest = 0 } = request.wants ?? {};
      return {
        wallMs: answer.get("wallMs", duration),
        opensInMs: answer.get("opensInMs", duration),
        version: answer.get("version", text),
        sessions: answer.get("sessions", list(objectOf(sessionIn))),
        holders: answer.get("holders", optional(pairs(text))),
        pauses: answer.get("pauses", pairs(duration)),
        granted: granted && { ...granted, seat: granted.seat ? seat : 0, rest: granted.rest ? rest : 0 },
      };
    });
  }

  async claim(request: ClaimRequest): Promise<readonly Claimed[] | undefined> {
    const asked = new Set(request.groups.flatMap(({ names }) => names));
    const claimed = await this.#ask("claim", request, (answer) =>
      answer.get("claimed", list(objectOf(claimedIn))),
    );
    return claimed?.filter(({ name }) => asked.has(name));
  }

  async release(request: ReleaseRequest): Promise<boolean> {
    return (await this.#ask("release", request, isDone)) === true;
  }

  async tell(news: News): Promise<boolean> {
    return (await this.#ask("tell", news, isDone)) === true;
  }

  records(): Promise<ReadonlyMap<string, string> | undefined> {
    return this.#ask("records", {}, (answer) => answer.get("records", pairs(text)));
  }

  count(request: CountRequest): Promise<Counted | undefined> {
    const read = (answer: Row): Counted => ({
      own: new Map([...answer.get("own", pairs(digits))].map(([hour, units]) => [Number(hour), units])),
      total: answer.get("total", digits),
    });
    return this.#ask("count", request, read, [
      `${this.#place}:quota:${request.quota.of}:${request.quota.budget}`,
    ]);
  }

  /** The scripts read the request as it is, a map as the list of its pairs. An answer that is none of ours is none. */
  async #ask<Answer>(
    call: Call,
    request: object,
    read: (answer: Row) => Answer,
    keys = this.#keys,
  ): Promise<Answer | undefined> {
    const fields = Object.entries(request).map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Map ? [...value] : value,
    ]);
    const reply = await this.#redis.run(this.#scripts[call], keys, [
      JSON.stringify(Object.fromEntries(fields)),
    ]);
    if (reply.kind === "failed" || typeof reply.value !== "string") return undefined;
    return readText(reply.value, read);
  }
}

function isDone(answer: Row): boolean {
  return answer.get("isDone", flag);
}

function sessionIn(session: Row): LiveSession {
  return {
    session: session.get("session", text),
    endsInMs: session.get("endsInMs", duration),
    info: session.get("info", text),
    provenMs: session.get("provenMs", optional(duration)),
  };
}

function claimedIn(claimed: Row): Claimed {
  return {
    name: claimed.get("name", text),
    unheldMs: claimed.get("unheldMs", optional(duration)),
    waitMs: claimed.get("waitMs", duration),
    record: claimed.get(
      "record",
      optional(
        objectOf((record) => ({ text: record.get("text", text), agoMs: record.get("agoMs", duration) })),
      ),
    ),
  };
}

function grantIn(granted: Row): Record<"seat" | "rest" | "isAnew" | "isMixed", boolean> {
  return {
    seat: granted.get("seat", flag),
    rest: granted.get("rest", flag),
    isAnew: granted.get("isAnew", flag),
    isMixed: granted.get("isMixed", flag),
  };
}

/** Nothing that a board invents may reach a timer, which would never rest. */
const duration: Check<number> = (written) => Math.max(0, number(written));

const digits: Check<number> = (written) => duration(Number.parseFloat(text(written)));

/** Redis writes an empty list as an empty object. */
function list<Read>(check: Check<Read>): Check<readonly Read[]> {
  return (written) => (isObject(written) && Object.keys(written).length === 0 ? [] : listOf(check)(written));
}

function pairs<Value>(check: Check<Value>): Check<ReadonlyMap<string, Value>> {
  return (written) =>
    new Map(
      list(listOf((each: unknown) => each))(written).map(([name, value]) => [text(name), check(value)]),
    );
}
