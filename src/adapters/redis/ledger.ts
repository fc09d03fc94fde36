import type { UpstreamSignals } from "../../core/budget/signals.ts";
import type {
  LedgerStore,
  Stored,
  UsageReport,
  SharedSettlement,
  SharedState,
  SharedTaking,
  SharedTerms,
} from "../../core/fleet/ledger-store.ts";
import { standingIn, takingIn } from "./ledger-answers.ts";
import type { RedisReply } from "./connection.ts";
import { readLua, type RedisScript, redisScript } from "./script.ts";

/** As much of a Redis as a ledger needs. */
export type RedisRunner = {
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<RedisReply>;
  onChange(listener: (isUp: boolean) => void): void;
};

/** Shared budgets in Redis: one atomic step a question, all keys of a budget on one node of a cluster. */
export class RedisLedger implements LedgerStore {
  readonly #redis: RedisRunner;
  readonly #prefix: string;
  readonly #scripts: LedgerScripts;

  constructor(redis: RedisRunner, prefix: string, scripts: LedgerScripts = ledgerScripts()) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#scripts = scripts;
  }

  async take(terms: SharedTerms, lease: string): Promise<Stored<SharedTaking>> {
    const reply = await this.#ask(this.#scripts.take, terms, [lease]);
    return stored(reply, (value) => takingIn(value, terms));
  }

  settle(terms: SharedTerms, settled: SharedSettlement, agoMs: number): Promise<Stored<SharedState>> {
    return this.#stand(this.#scripts.settle, terms, [JSON.stringify(settled), agoMs]);
  }

  applySignals(terms: SharedTerms, signals: UpstreamSignals, agoMs: number): Promise<Stored<SharedState>> {
    return this.#stand(this.#scripts.applySignals, terms, [JSON.stringify(finite(signals)), agoMs]);
  }

  look(terms: SharedTerms, isAnew: boolean): Promise<Stored<SharedState>> {
    return this.#stand(this.#scripts.look, terms, [isAnew ? 1 : 0]);
  }

  reportUsage(terms: SharedTerms, { batch, byHour }: UsageReport): Promise<Stored<SharedState>> {
    return this.#stand(this.#scripts.reportUsage, terms, [batch, JSON.stringify([...byHour])]);
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

  async #stand(
    script: RedisScript,
    terms: SharedTerms,
    args: readonly (string | number)[],
  ): Promise<Stored<SharedState>> {
    return stored(await this.#ask(script, terms, args), (value) => standingIn(value, terms));
  }

  #ask(script: RedisScript, terms: SharedTerms, args: readonly (string | number)[]): Promise<RedisReply> {
    const keys = ["state", "leases", "quota", "contributed"].map(
      (name) => `${this.#prefix}:{${terms.budget}}:${name}`,
    );
    return this.#redis.run(script, keys, [JSON.stringify(terms), ...args]);
  }
}

function stored<Answer>(reply: RedisReply, read: (value: unknown) => Answer | undefined): Stored<Answer> {
  const answer = reply.kind === "failed" ? undefined : read(reply.value);
  return answer === undefined ? { kind: "away" } : { kind: "answered", answer };
}

/** JSON has no infinity: a limit that is said to be none is not said. */
function finite(signals: UpstreamSignals): UpstreamSignals {
  const said = (value: number | undefined): number | undefined =>
    Number.isFinite(value) ? value : undefined;
  const { advertised } = signals;
  if (advertised === undefined) return signals;
  return { ...signals, advertised: { limit: said(advertised.limit), remaining: said(advertised.remaining) } };
}

type BudgetStep = "take" | "settle" | "applySignals" | "look" | "reportUsage";

export type LedgerScripts = Readonly<Record<BudgetStep | "takeSeat" | "leaveSeat", RedisScript>>;

/** The first name is the label in the metrics, the last the Lua file. `clock` is another one for tests. */
export function ledgerScripts(clock?: string): LedgerScripts {
  const script = (call: string, ...files: readonly string[]): RedisScript =>
    redisScript(call, readLua(...files.map((file) => `ledger/${file}`)), clock);
  return {
    take: script("take", "budget", "take"),
    settle: script("settle", "budget", "settle"),
    applySignals: script("heed", "budget", "apply-signals"),
    look: script("look", "budget", "look"),
    reportUsage: script("contribute", "budget", "report-usage"),
    takeSeat: script("sit", "take-seat"),
    leaveSeat: script("rise", "leave-seat"),
  };
}
