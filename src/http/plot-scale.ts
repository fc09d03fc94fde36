/** A logarithmic scale: 80 ms, an objective of 1 s and a timeout of 10 s all keep their place on it. */

export type Scale = {
  /** In pixels from the top. */
  readonly y: (ms: number) => number;
  /** The powers of ten that lie on it, in milliseconds. */
  readonly gridMs: readonly number[];
};

const STEPS = [1, 2, 5] as const;
const LEAST_RATIO = 10;

export function scaleFor(valuesMs: readonly number[], height: number, padding: number): Scale {
  const known = valuesMs.filter((ms) => Number.isFinite(ms)).map((ms) => Math.max(1, ms));
  const lowMs = roundedDown(known.length === 0 ? 10 : Math.min(...known));
  const highMs = Math.max(
    lowMs * LEAST_RATIO,
    roundedUp((known.length === 0 ? 1000 : Math.max(...known)) * 1.05),
  );
  const [low, high] = [Math.log10(lowMs), Math.log10(highMs)];
  const y = (ms: number): number => {
    const part = (Math.log10(Math.min(highMs, Math.max(lowMs, ms))) - low) / (high - low);
    return Math.round((padding + (1 - part) * (height - 2 * padding)) * 10) / 10;
  };
  const decades = Array.from(
    { length: Math.floor(high) - Math.ceil(low) + 1 },
    (_, index) => Math.ceil(low) + index,
  );
  return { y, gridMs: decades.map((decade) => 10 ** decade) };
}

function roundedDown(ms: number): number {
  const decade = 10 ** Math.floor(Math.log10(ms));
  return decade * (STEPS.findLast((step) => step * decade <= ms) ?? 1);
}

function roundedUp(ms: number): number {
  const decade = 10 ** Math.floor(Math.log10(ms));
  return decade * (STEPS.find((step) => step * decade >= ms) ?? 10);
}
