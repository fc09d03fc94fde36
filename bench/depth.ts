/** How long and how often everything is measured. */
export type Depth = {
  readonly name: "quick" | "full";
  readonly cpuRounds: number;
  readonly warmUpS: number;
  readonly windowS: number;
  readonly saturationRounds: number;
  readonly errorRounds: number;
  readonly errorWindowS: number;
  readonly bursts: number;
  readonly startUps: number;
  /** By number of upstreams. */
  readonly sizes: readonly number[];
  readonly settleS: number;
  readonly withScale: boolean;
};

export const QUICK: Depth = {
  name: "quick",
  cpuRounds: 2,
  warmUpS: 2,
  windowS: 3,
  saturationRounds: 0,
  errorRounds: 2,
  errorWindowS: 2,
  bursts: 1,
  startUps: 5,
  sizes: [2, 1_000],
  settleS: 7,
  withScale: false,
};

export const FULL: Depth = {
  name: "full",
  cpuRounds: 5,
  warmUpS: 4,
  windowS: 6,
  saturationRounds: 3,
  errorRounds: 5,
  errorWindowS: 6,
  bursts: 2,
  startUps: 15,
  sizes: [2, 1_000, 5_000],
  settleS: 45,
  withScale: true,
};
