import { randomBytes } from "node:crypto";
import { sinceBoot } from "../../platform/boot-clock.ts";
import { coldStartOfBudget, forgottenAfterMs, limitsOf } from "../../kernel/budget/cold-start.ts";
import { leaseRatesOf } from "../../kernel/budget/leases.ts";
import { sendersByBudget, uncountedMsOf, type SendersOf } from "../../kernel/budget/needs.ts";
import type { Config } from "../../kernel/config/config.ts";
import type { Fleet } from "./config.ts";
import type { Opened } from "../../platform/opened.ts";
import { type Lock, openLock } from "./lock.ts";
import { Leader } from "./lead/leader.ts";
import type { BudgetTerms } from "./lead/notes.ts";
import type { Reign } from "./lead/reign.ts";
import type { FleetSnapshot } from "./metrics.ts";
import { hash32 } from "../../kernel/schedule/hash.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { textOf } from "../../platform/changes.ts";
import { faultsOfKeys, type KeyParts } from "../../transport/secrets/keys.ts";

export type FleetParts = KeyParts & {
  readonly clock: Clock;
  /** As it is now. */
  readonly config: () => Config;
  readonly sendersOf: SendersOf;
  /** Of one reign, begun and ended in turn. */
  readonly onLead: (reign: Reign) => void;
  readonly onLost: () => void;
};

/** As this process sees who leads. By the wall clock. */
type SeenFleet = {
  readonly name: string;
  readonly isLeading: boolean;
  readonly leader:
    | { readonly name: string; readonly url: string | undefined; readonly sinceMs: number }
    | undefined;
  readonly lockAwaySinceMs?: number;
  readonly isForeign?: true;
};

/** This process among the others that may lead in its place. */
export class AppFleet {
  readonly #fleet: Fleet;
  readonly #parts: FleetParts;
  readonly #lock: Lock;
  readonly #leader: Leader;
  #digested: { readonly config: Config; readonly digest: string } | undefined;

  constructor(fleet: Fleet, lock: Lock, parts: FleetParts) {
    const { clock, config, log } = parts;
    this.#fleet = fleet;
    this.#lock = lock;
    this.#parts = parts;
    log.info({ name: fleet.name }, "standing by: this process leads once nobody else does");
    this.#leader = new Leader({
      ...lock,
      clock: { ...clock, sinceBootMs: sinceBoot(clock) },
      ttlMs: fleet.ttlMs,
      name: fleet.name,
      url: fleet.advertise,
      digest: () => this.#digest,
      terms: () => termsOf(config(), parts.sendersOf),
      log,
      random: Math.random,
      newId: () => randomBytes(9).toString("base64url"),
      onLead: parts.onLead,
      onLost: parts.onLost,
    });
  }

  get running(): { readonly fleet: FleetSnapshot } {
    const { role, unreachableSinceMs } = this.#leader.state;
    const isLockUp = unreachableSinceMs === undefined;
    return { fleet: { isLeading: role === "leading", isLockUp, digest: this.#digest } };
  }

  get status(): SeenFleet {
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock[Symbol.asyncDispose]();
  }

  get #digest(): string {
    const config = this.#parts.config();
    if (this.#digested?.config !== config) this.#digested = { config, digest: digestOf(config) };
    return this.#digested.digest;
  }
}

export async function openFleet(fleet: Fleet, parts: FleetParts): Promise<Opened<AppFleet>> {
  const { upstreams, vantage } = parts.config();
  // Whoever stands by may lead at any moment.
  const faults = await faultsOfKeys(upstreams, parts);
  if (faults.length > 0) return { kind: "refused", faults };
  const opened = await openLock(fleet, vantage, parts);
  if (opened.kind === "refused") return opened;
  return { kind: "opened", what: new AppFleet(fleet, opened.what, parts) };
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
