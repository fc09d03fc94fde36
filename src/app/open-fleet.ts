import { randomBytes } from "node:crypto";
import type { KnownKeys } from "../adapters/secrets/known-keys.ts";
import { RedisLedger } from "../adapters/redis/ledger.ts";
import { Redis, type RedisCall } from "../adapters/redis/connection.ts";
import { openSecret } from "../config/read/secrets.ts";
import type { Config, Fleet } from "../core/config/config.ts";
import type { Log } from "../core/text/log.ts";
import type { RunningLedger } from "../core/budget/ledger.ts";
import type { Clock } from "../core/time/clock.ts";
import type { QuotaBuckets } from "../core/budget/quota.ts";
import { SharedLedger } from "../engine/fleet/shared-ledger.ts";

export type OpenedLedger =
  | {
      readonly kind: "opened";
      readonly ledger: RunningLedger;
      /** Undefined without a fleet. */
      readonly redis: Redis | undefined;
    }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export type FleetParts = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly keys: KnownKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly quotas: ReadonlyMap<string, QuotaBuckets> | undefined;
  readonly onBug: (error: unknown) => void;
  readonly onRedisCall: (call: RedisCall) => void;
};

/** Does not wait for Redis: until it is reachable, a replica polls from its reserve, or not at all. */
export async function openFleet(
  config: Config,
  fleet: Fleet,
  parts: FleetParts,
  stack: AsyncDisposableStack,
): Promise<OpenedLedger> {
  const { clock, log, quotas, onBug } = parts;
  const opened = await passwordOf(fleet, parts);
  if (opened.kind === "refused") return opened;
  const { password } = opened;
  const redis = stack.use(new Redis(fleet, { clock, log, password, onCall: parts.onRedisCall }));
  const store = new RedisLedger(redis, fleet.prefix);
  const life = `${fleet.name}:${randomBytes(9).toString("base64url")}`;
  const ledger = stack.use(
    new SharedLedger(config, { fleet, store, clock, life, quotaBuckets: quotas, onBug }),
  );
  return { kind: "opened", ledger, redis };
}

type OpenedPassword =
  | { readonly kind: "opened"; readonly password: (() => Promise<string>) | undefined }
  | Extract<OpenedLedger, { readonly kind: "refused" }>;

async function passwordOf({ redis }: Fleet, { environment, keys, log }: FleetParts): Promise<OpenedPassword> {
  if (redis.password === undefined) return { kind: "opened", password: undefined };
  const opening = await openSecret(redis.password, environment, (message) =>
    log.warn({ fleet: "redis" }, message),
  );
  if (opening.kind === "refused") {
    return { kind: "refused", faults: [`fleet.redis.password: ${opening.message}`] };
  }
  const password = async (): Promise<string> => {
    const secret = await opening.secret.read();
    keys.learn("fleet.redis", secret);
    return secret;
  };
  return { kind: "opened", password };
}
