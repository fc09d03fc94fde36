import type { Budget } from "../../../src/kernel/config/config.ts";
import { slotsOf } from "../../../src/kernel/schedule/schedule.ts";
import type { Words } from "../world/answers.ts";
import type { Flight } from "../world/flight.ts";
import { accountOf } from "../world/setup.ts";
import type { Setup } from "../world/scenario.ts";

type Pause = { readonly fromMs: number; readonly untilMs: number; readonly heardAtMs: number };
type Lowered = {
  readonly requests: number;
  readonly perMs: number;
  readonly atMs: number;
  /** One poll a period, which its word alone does not forbid. */
  readonly needed: number;
};

const NONE: ReadonlyMap<number, number> = new Map();
const ROUNDING_MS = 1e-3;

/** What one life of the process was asked for, and so must keep to. It knows nothing of how that is done. */
export class Heard {
  readonly #budgets = new Map<string, Pause>();
  readonly #upstreams = new Map<string, Pause>();
  readonly #lowered = new Map<string, Lowered[]>();
  /** Since when each upstream is there without a break. */
  readonly #joinedAtMs: Map<string, number>;

  #setup: Setup;

  constructor(setup: Setup, nowMs: number) {
    this.#setup = setup;
    this.#joinedAtMs = new Map(setup.upstreams.map(({ name }) => [name, nowMs]));
  }

  hear(flight: Flight, words: Words, budget: Budget | undefined, nowMs: number): void {
    if (budget === undefined) return;
    if (words.pause !== undefined) this.#hearPause(flight, words.pause, budget, nowMs);
    const { limit } = words;
    if (limit === undefined) return;
    const configured = budget.rates.find((rate) => rate.perMs === limit.perMs)?.requests ?? 0;
    if (limit.requests >= configured) return;
    const standing = (this.#lowered.get(budget.name) ?? []).filter(({ atMs, perMs }) => atMs + perMs > nowMs);
    this.#lowered.set(budget.name, [
      ...standing,
      { ...limit, atMs: nowMs, needed: this.#neededIn(limit.perMs, budget) },
    ]);
  }

  /** Until when this request should have waited; undefined where nobody asked for that. */
  pauseBroken({ budget, upstream }: Pick<Flight, "budget" | "upstream">, nowMs: number): number | undefined {
    for (const pause of [this.#budgets.get(budget), this.#upstreams.get(upstream)]) {
      if (pause !== undefined && pause.fromMs < nowMs && nowMs < pause.untilMs - ROUNDING_MS)
        return pause.untilMs;
    }
    return undefined;
  }

  loweredCaps(budget: Budget, nowMs: number): ReadonlyMap<number, number> {
    const lowered = this.#lowered.get(budget.name);
    if (lowered === undefined) return NONE;
    const caps = new Map<number, number>();
    for (const { requests, perMs, atMs, needed } of lowered) {
      if (atMs >= nowMs || nowMs >= atMs + perMs - ROUNDING_MS) continue;
      const cap = Math.max(1, needed, Math.floor(requests * budget.share + 1e-9));
      caps.set(perMs, Math.min(cap, caps.get(perMs) ?? cap));
    }
    return caps;
  }

  /** As long as the lease of a slow poll is held. */
  #neededIn(perMs: number, budget: Budget): number {
    const users = this.#setup.upstreams.filter((upstream) => upstream.budgets.includes(budget.name));
    const slots = users.map(({ schedule, timeoutMs }) =>
      slotsOf(schedule).mostWithin(perMs * 1.001 + timeoutMs),
    );
    return slots.reduce((sum, count) => sum + count, 0);
  }

  /** A budget or an upstream that a reload takes out of the config is forgotten, and so is a window. */
  reload(setup: Setup, nowMs: number): void {
    this.#setup = setup;
    const names = new Set(setup.upstreams.map(({ name }) => name));
    for (const name of this.#joinedAtMs.keys()) if (!names.has(name)) this.#joinedAtMs.delete(name);
    for (const name of names) if (!this.#joinedAtMs.has(name)) this.#joinedAtMs.set(name, nowMs);
    for (const name of this.#upstreams.keys()) if (!names.has(name)) this.#upstreams.delete(name);
    for (const name of this.#budgets.keys())
      if (accountOf(setup, name) === undefined) this.#budgets.delete(name);
    for (const [name, lowered] of this.#lowered) {
      const rates = accountOf(setup, name)?.budget.rates ?? [];
      const kept = lowered.filter(({ perMs }) => rates.some((rate) => rate.perMs === perMs));
      this.#lowered.set(name, kept);
    }
  }

  #hearPause(flight: Flight, asked: NonNullable<Words["pause"]>, budget: Budget, nowMs: number): void {
    if (asked.scope === "upstream" && flight.sentAtMs < (this.#joinedAtMs.get(flight.upstream) ?? Infinity))
      return;
    const pauses = asked.scope === "budget" ? this.#budgets : this.#upstreams;
    const name = asked.scope === "budget" ? flight.budget : flight.upstream;
    const before = pauses.get(name);
    const isPaused = before !== undefined && before.untilMs > nowMs;
    // What was sent before the last refusal was heard belongs to the burst that caused it.
    const isOfTheBurst = before !== undefined && (isPaused || flight.sentAtMs <= before.heardAtMs);
    if (asked.forMs === undefined && isOfTheBurst) return;
    const forMs = Math.min(
      asked.forMs ?? Math.max(...budget.rates.map(({ perMs }) => perMs)),
      budget.maxPauseMs,
    );
    const untilMs = Math.max(nowMs + forMs, before?.untilMs ?? 0);
    pauses.set(name, { fromMs: isPaused ? before.fromMs : nowMs, untilMs, heardAtMs: nowMs });
  }
}
