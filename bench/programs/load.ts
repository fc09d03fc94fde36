/** What the load process is told, and what it tells. */
export type LoadQuestion = {
  readonly origin: string;
  /** Each request's own number is written behind it. */
  readonly path: string;
  readonly firstNumber: number;
  readonly manner:
    | { readonly kind: "rate"; readonly perSecond: number; readonly seconds: number }
    | { readonly kind: "saturate"; readonly atOnce: number; readonly seconds: number }
    | { readonly kind: "burst"; readonly count: number };
};

export type Probed = { readonly number: number; readonly durationMs: number };

export type LoadAnswer = {
  readonly probed: readonly Probed[];
  readonly failed: number;
};
