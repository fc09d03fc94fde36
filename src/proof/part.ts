import type { Budget, Upstream } from "../kernel/config/config.ts";

export type Subject =
  | { readonly kind: "rate"; readonly budget: string; readonly index: number }
  | { readonly kind: "quota" | "spend"; readonly budget: string }
  | { readonly kind: "budget"; readonly budget: string }
  /** It is about what it draws on, how often it is polled, or what that costs. */
  | { readonly kind: "upstream"; readonly upstream: string; readonly about: "budget" | "schedule" | "price" };

export type Finding = { readonly subject: Subject; readonly message: string };

/** A feature adds this to the proof of a config. */
export type ProofPart = {
  /** Who sends requests beside the upstreams. */
  readonly senders?: (upstreams: readonly Upstream[]) => readonly Upstream[];
  /** Takes something for each request that the budget has so much of for days. */
  readonly quota?: QuotaPart;
  /** Whether it may be polled more often than its schedule says. */
  readonly mayBePolledMore?: (upstream: Upstream) => boolean;
  readonly faults?: (
    budgets: readonly Budget[],
    byBudget: ReadonlyMap<string, readonly Upstream[]>,
  ) => readonly Finding[];
};

/** In whole units, so that sums are exact: requests, or billionths of a currency. */
export type Quota = { readonly most: number; readonly perMs: number; readonly onExhaust: "stop" | "refuse" };

export type QuotaPart = {
  readonly kind: "quota" | "spend";
  readonly of: (budget: Budget) => Quota | undefined;
  readonly unitsOf: (upstream: Upstream) => number;
  readonly format: (units: number) => string;
  /** Undefined where no upstream has one: then nothing can be proved. */
  readonly unit: (upstreams: readonly Upstream[]) => string | undefined;
};

export function sendersOf(upstreams: readonly Upstream[], parts: readonly ProofPart[]): readonly Upstream[] {
  return [...upstreams, ...parts.flatMap(({ senders }) => senders?.(upstreams) ?? [])];
}
