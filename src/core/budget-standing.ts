export type RateStatus = {
  readonly label: string;
  readonly limit: number;
  readonly cap: number;
  readonly leases: number;
};

/** How a budget stands at one moment. Monotonic times. */
export type BudgetStanding = {
  readonly rates: readonly RateStatus[];
  readonly advertisedLimit: number | undefined;
  readonly advertisedRemaining: number | undefined;
  /** In the past where nothing pauses it. */
  readonly pausedUntilMs: number;
  readonly quotaUsed: number | undefined;
};
