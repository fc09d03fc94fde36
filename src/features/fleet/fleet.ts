import { randomBytes } from "node:crypto";
import { uptime } from "node:os";
import { sinceBoot } from "../../platform/boot-clock.ts";
import { Redis } from "./redis/connection.ts";
import { RedisRegister } from "./redis/register.ts";
import { coldStartOfBudget, forgottenAfterMs, leaseRatesOf, limitsOf } from "../../kernel/budget/leases.ts";
import { sendersByBudget, uncountedMsOf, type SendersOf } from "../../kernel/budget/needs.ts";
import type { Config } from "../../kernel/config/config.ts";
import type { Fleet } from "./config.ts";
import { lockKey } from "../../kernel/config/part.ts";
import type { Opened } from "../../platform/opened.ts";
import type { Reign } from "./lead/reign.ts";
import { type Leader, startElection } from "./lead/leader.ts";
import type { BudgetTerms } from "./lead/notes.ts";
import type { FleetSnapshot } from "./metrics.ts";
import { hash32 } from "../../kernel/schedule/hash.ts";
import type { FleetStatus } from "../status/status.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { SECOND_MS } from "../../kernel/time/duration.ts";
import { faultsOfKeys, type KeyParts, openKey, textOf } from "../../app/probes.ts";

export type FleetParts = KeyParts & {
  readonly clock: Clock;
  /** As it is now. */
  readonly config: () => Config;
  readonly sendersOf: SendersOf;
  /** Of one reign, begun and ended in turn. */
  readonly onLead: (reign: Reign) => void;
  readonly onLost: () => void;
};

/** This process among the others that may lead in its place. */
export class AppFleet {
  readonly #fleet: Fleet;
  readonly #parts: FleetParts;
  readonly #leader: Leader;
  #digested: { readonly config: Config; readonly digest: string } | undefined;

  constructor(fleet: Fleet, redis: Redis, parts: FleetParts) {
    const { clock, config, log } = parts;
    this.#fleet = fleet;
    this.#parts = parts;
    const key = lockKey(fleet.lock.redis.key, config().vantage);
    this.#leader = startElection({
      lock: new RedisRegister(redis, key),
      notes: new RedisRegister(redis, `${key}:notes`),
      clock: { ...clock, sinceBootMs: sinceBoot(clock, () => uptime() * SECOND_MS) },
      ttlMs: fleet.ttlMs,
      name: fleet.name,
      url: fleet.advertise,
      digest: () => this.#digest,
      terms: () => termsOf(config(), parts.sendersOf),
      random: Math.random,
      newId: () => randomBytes(9).toString("base64url"),
      onLead: (reign) => {
        log.info({ term: reign.term }, "leading: this process polls from now on");
        parts.onLead(reign);
      },
      onLost: (reign) => {
        log.warn({ term: reign.term }, "not leading any more: this process stands by");
        parts.onLost();
      },
      onForeign: () =>
        log.error(
          { key },
          "what stands at the lock's key, or at its notes', is not ours or newer: standing by",
        ),
    });
  }

  get snapshot(): FleetSnapshot {
    const { role, unreachableSinceMs } = this.#leader.state;
    return {
      isLeading: role === "leading",
      isLockUp: unreachableSinceMs === undefined,
      digest: this.#digest,
    };
  }

  get status(): FleetStatus {
    const { role, leader, unreachableSinceMs } = this.#leader.state;
    const { clock } = this.#parts;
    return {
      name: this.#fleet.name,
      isLeading: role === "leading",
      leader: leader && { name: leader.name, url: leader.url, sinceMs: leader.sinceWallMs },
      ...(unreachableSinceMs !== undefined && {
        lockAwaySinceMs: unreachableSinceMs - clock.now() + clock.wallNow(),
      }),
      ...(role === "foreign" && { isForeign: true }),
    };
  }

  /** Another may lead as soon as `drained` has told for how long what was sent still counts. */
  stop(drained: Promise<ReadonlyMap<string, number>>): Promise<void> {
    return this.#leader.stop(drained);
  }

  get #digest(): string {
    const config = this.#parts.config();
    if (this.#digested?.config !== config) this.#digested = { config, digest: digestOf(config) };
    return this.#digested.digest;
  }
}

/** Nobody waits for the lock here: until it answers, nobody leads. */
export async function openFleet(
  config: Config,
  fleet: Fleet,
  parts: FleetParts,
  stack: AsyncDisposableStack,
): Promise<Opened<AppFleet>> {
  const { clock, log, keys } = parts;
  // Whoever stands by may lead at any moment.
  const faults = await faultsOfKeys(config.upstreams, parts);
  if (faults.length > 0) return { kind: "refused", faults };
  const { redis: place } = fleet.lock;
  const password =
    place.password && (await openKey(place.password, "fleet.lock.redis", { fleet: "redis" }, parts));
  if (password?.kind === "refused")
    return {
      kind: "refused",
      faults: password.faults.map((fault) => `fleet.lock.redis.password: ${fault}`),
    };
  const redis = stack.use(
    new Redis(place, {
      clock,
      log,
      deadlineMs: fleet.ttlMs / 4,
      withoutKeys: (text) => keys.hide(text),
      password: password?.what,
    }),
  );
  return { kind: "opened", what: new AppFleet(fleet, redis, parts) };
}

function digestOf({ budgets, upstreams }: Config): string {
  return hash32(JSON.stringify([budgets, upstreams.map(textOf)])).toString(36);
}

/** By which the next leader waits, where it has others. */
function termsOf({ budgets, upstreams }: Config, sendersOf: SendersOf): readonly BudgetTerms[] {
  const senders = sendersByBudget(sendersOf(upstreams));
  return budgets.map((budget) => {
    const uncountedMs = uncountedMsOf(senders.get(budget.name) ?? [], [budget]);
    const rates = leaseRatesOf(budget);
    const terms = [rates, limitsOf(budget), budget.lingerMs, uncountedMs, budget.vantage?.of];
    return {
      budget: budget.name,
      digest: hash32(JSON.stringify(terms)).toString(36),
      isPart: budget.vantage !== undefined,
      coldMs: coldStartOfBudget(budget, uncountedMs).coldMs,
      wholeMs: forgottenAfterMs({ rates, lingerMs: budget.lingerMs }, uncountedMs),
    };
  });
}
