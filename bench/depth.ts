/** How long and how often everything is measured. */
export type Depth = {
  readonly cpuRounds: number;
  readonly warmUpS: number;
  readonly windowS: number;
  readonly saturationRounds: number;
  /** Next to bare Node.js. */
  readonly floorRounds: number;
  /** Next to other programs that poll. */
  readonly peerRounds: number;
  readonly errorRounds: number;
  /** Each round's window is cut into so many, each of which is a value of its own. */
  readonly errorParts: number;
  readonly errorWindowS: number;
  readonly startUps: number;
  readonly memoryRounds: number;
  /** By number of upstreams. */
  readonly sizes: readonly number[];
  readonly settleS: number;
  readonly withScale: boolean;
};

/** What the older goals need: three to four minutes. */
export const QUICK: Depth = {
  cpuRounds: 2,
  warmUpS: 1,
  windowS: 2,
  saturationRounds: 0,
  floorRounds: 0,
  peerRounds: 0,
  errorRounds: 1,
  errorParts: 2,
  errorWindowS: 2,
  startUps: 3,
  memoryRounds: 1,
  sizes: [2, 5_000],
  settleS: 4,
  withScale: false,
};

export const FULL: Depth = {
  cpuRounds: 4,
  warmUpS: 6,
  windowS: 5,
  saturationRounds: 2,
  floorRounds: 3,
  peerRounds: 3,
  errorRounds: 4,
  errorParts: 1,
  errorWindowS: 6,
  startUps: 11,
  memoryRounds: 2,
  sizes: [2, 1_000, 5_000],
  settleS: 30,
  withScale: true,
};
