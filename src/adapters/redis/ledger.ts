import type { UpstreamSignals } from "../../core/budget/signals.ts";
import type {
  LedgerStore,
  Stored,
  UsageReport,
  SharedMessage,
  SharedState,
  SharedTaking,
  SharedTerms,
  SharedWait,
} from "../../core/fleet/ledger-store.ts";
import type { Redis, RedisReply } from "./connection.ts";
import { readLua, type RedisScript, redisScript } from "./script.ts";

/**
 * Shared budgets in Redis: each call is one atomic script, and all keys of a budget are on one node of a cluster. A
 * script cannot reach two nodes, so there nobody draws on two budgets: the config is refused.
 */
export class RedisLedger implements LedgerStore {
  readonly #redis: Pick<Redis, "run" | "onChange">;
  readonly #prefix: string;
  readonly #scripts: LedgerScripts;

  constructor(
    redis: Pick<Redis, "run" | "onChange">,
    prefix: string,
    scripts: LedgerScripts = ledgerScripts(),
  ) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#scripts = scripts;
  }

  async take(terms: readonly SharedTerms[], lease: string): Promise<Stored<SharedTaking>> {
    const reply = await this.#ask(this.#scripts.take, terms, [lease]);
    return stored(reply, (value) => takingIn(value, terms));
  }

  report(terms: SharedTerms, messages: readonly SharedMessage[]): Promise<Stored<SharedState>> {
    const told = messages.map((message) =>
      message.kind === "signalled" ? { ...message, signals: finite(message.signals) } : message,
    );
    return this.#call(this.#scripts.report, terms, [JSON.stringify(told)]);
  }

  look(terms: SharedTerms, isAnew: boolean): Promise<Stored<SharedState>> {
    return this.#call(this.#scripts.look, terms, [isAnew ? 1 : 0]);
  }

  reportUsage(terms: SharedTerms, { batch, byHour }: UsageReport): Promise<Stored<SharedState>> {
    return this.#call(this.#scripts.reportUsage, terms, [batch, JSON.stringify([...byHour])]);
  }

  async takeSeat(seats: number, owner: string, forMs: number): Promise<Stored<number | undefined>> {
    const reply = await this.#redis.run(this.#scripts.takeSeat, [this.#seats], [seats, owner, forMs]);
    if (reply.kind === "failed" || typeof reply.value !== "number") return { kind: "away" };
    return { kind: "answered", answer: reply.value === 0 ? undefined : reply.value };
  }

  async leaveSeat(owner: string): Promise<Stored<undefined>> {
    const reply = await this.#redis.run(this.#scripts.leaveSeat, [this.#seats], [owner]);
    return reply.kind === "failed" ? { kind: "away" } : { kind: "answered", answer: undefined };
  }

  onBack(listener: () => void): void {
    this.#redis.onChange((isUp) => {
      if (isUp) listener();
    });
  }

  get #seats(): string {
    return `${this.#prefix}:{fleet}:seats`;
  }

  async #call(
    script: RedisScript,
    terms: SharedTerms,
    args: readonly (string | number)[],
  ): Promise<Stored<SharedState>> {
    return stored(await this.#ask(script, [terms], args), (value) => stateIn(value, terms));
  }

  #ask(
    script: RedisScript,
    terms: readonly SharedTerms[],
    args: readonly (string | number)[],
  ): Promise<RedisReply> {
    const keys = terms.flatMap(({ budget }) =>
      ["state", "leases", "quota", "contributed"].map((name) => `${this.#prefix}:{${budget}}:${name}`),
    );
    return this.#redis.run(script, keys, [JSON.stringify(terms), ...args]);
  }
}

/** Fields before those of the rates. */
const FIXED = 11;

/** As `answer` in ledger/budget.lua writes it; undefined if it is anything else. */
function stateIn(value: unknown, terms: SharedTerms): SharedState | undefined {
  const fields = fieldsIn(value);
  if (fields === undefined || fields.length < FIXED + 2 * terms.rates.length) return undefined;
  const text = (index: number): string => fields[index] ?? "";
  const numberAt = (index: number): number => Number(text(index));
  const optional = (index: number): number | undefined => (text(index) === "" ? undefined : numberAt(index));
  return {
    nowMs: numberAt(0),
    epoch: text(1),
    coldMs: numberAt(2),
    pausedMs: numberAt(3),
    yieldMs: numberAt(4),
    advertisedLimit: optional(5),
    advertisedRemaining: optional(6),
    quotaUsed: numberAt(7),
    hasReported: text(8) === "1",
    freed: numberAt(9),
    refusals: numberAt(10),
    caps: terms.rates.map((_, index) => numberAt(FIXED + 2 * index)),
    leases: terms.rates.map((_, index) => numberAt(FIXED + 2 * index + 1)),
  };
}

/** For each budget a state, followed by a wait and its cause: `free` if nothing stands against it. */
function takingIn(value: unknown, terms: readonly SharedTerms[]): SharedTaking | undefined {
  if (!Array.isArray(value) || value.length !== terms.length) return undefined;
  const answers: readonly unknown[] = value;
  const states: SharedState[] = [];
  const waits: SharedWait[] = [];
  for (const [index, each] of terms.entries()) {
    const state = stateIn(answers[index], each);
    const [waitMs, cause] = fieldsIn(answers[index])?.slice(FIXED + 2 * each.rates.length) ?? [];
    if (state === undefined) return undefined;
    states.push(state);
    if (cause === "free") continue;
    if (cause !== "budget" && cause !== "backoff" && cause !== "quota" && cause !== "ledger")
      return undefined;
    waits.push({ budget: each.budget, waitMs: Number(waitMs), cause });
  }
  return { states, waits };
}

function fieldsIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const fields: readonly unknown[] = value;
  return fields.every((field) => typeof field === "string") ? fields : undefined;
}

function stored<Answer>(reply: RedisReply, read: (value: unknown) => Answer | undefined): Stored<Answer> {
  const answer = reply.kind === "failed" ? undefined : read(reply.value);
  return answer === undefined ? { kind: "away" } : { kind: "answered", answer };
}

/** JSON has no infinity: an infinite limit is left out. */
function finite(signals: UpstreamSignals): UpstreamSignals {
  const known = (value: number | undefined): number | undefined =>
    Number.isFinite(value) ? value : undefined;
  const { advertised } = signals;
  if (advertised === undefined) return signals;
  return {
    ...signals,
    advertised: { limit: known(advertised.limit), remaining: known(advertised.remaining) },
  };
}

type BudgetStep = "take" | "report" | "look" | "reportUsage";

const LUA = new URL("ledger/", import.meta.url);

export type LedgerScripts = Readonly<Record<BudgetStep | "takeSeat" | "leaveSeat", RedisScript>>;

/** The first name is the label in the metrics, the last the Lua file. `clock` is another one for tests. */
export function ledgerScripts(clock?: string): LedgerScripts {
  const script = (call: string, ...files: readonly string[]): RedisScript =>
    redisScript(call, readLua(LUA, ...files), clock);
  return {
    take: script("take", "budget", "take"),
    report: script("report", "budget", "report"),
    look: script("look", "budget", "look"),
    reportUsage: script("contribute", "budget", "report-usage"),
    takeSeat: script("sit", "take-seat"),
    leaveSeat: script("rise", "leave-seat"),
  };
}
