/** In whole units, so that sums are exact: requests, or billionths of a currency. */
export type Quota = {
  readonly most: number;
  readonly perMs: number;
  readonly onExhaust: "stop" | "refuse";
};

declare module "../../kernel/config/config.ts" {
  interface Budget {
    /** Of a vantage only its part. */
    readonly quota?: Quota | undefined;
  }
}
