import type { Vantage } from "../../kernel/config/config.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import type { Opened } from "../../platform/opened.ts";
import { type KeyParts, openKey } from "../../transport/secrets/keys.ts";
import type { Fleet } from "./config.ts";
import type { Register } from "./lead/register.ts";
import { Redis } from "./redis/connection.ts";
import { RedisRegister } from "./redis/register.ts";

/** Both registers of a fleet, and the way to them. Another kind of lock is a folder beside `redis`, and its case here. */
export type Lock = AsyncDisposable & {
  /** As people find it there. */
  readonly key: string;
  readonly lock: Register;
  readonly notes: Register;
};

/** Nobody waits for the lock here: until it answers, nobody leads. */
export async function openLock(
  { lock: { redis: place }, ttlMs }: Fleet,
  vantage: Vantage | undefined,
  parts: KeyParts & { readonly clock: Clock },
): Promise<Opened<Lock>> {
  const password =
    place.password && (await openKey(place.password, "fleet.lock.redis", { fleet: "redis" }, parts));
  if (password?.kind === "refused")
    return {
      kind: "refused",
      faults: password.faults.map((fault) => `fleet.lock.redis.password: ${fault}`),
    };
  const redis = new Redis(place, {
    ...parts,
    deadlineMs: ttlMs / 4,
    withoutKeys: (text) => parts.keys.hide(text),
    password: password?.what,
  });
  const key = lockKey(place.key, vantage);
  return {
    kind: "opened",
    what: {
      key,
      lock: new RedisRegister(redis, key),
      notes: new RedisRegister(redis, `${key}:notes`),
      [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
    },
  };
}

/** Each vantage has a leader of its own. No name has a colon in it. */
export function lockKey(key: string, vantage: Vantage | undefined): string {
  return vantage === undefined ? key : `${key}:vantage:${vantage.name}`;
}
