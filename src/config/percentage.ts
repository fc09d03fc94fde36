export const PERCENTAGE_PATTERN: RegExp = /^(\d{1,3}(?:\.\d{1,6})?)%$/;

/** `20%` as 0.2. */
export function parsePercentage(text: string): number | undefined {
  const amount = PERCENTAGE_PATTERN.exec(text)?.[1];
  return amount === undefined ? undefined : Number(amount) / 100;
}

export function formatPercentage(ratio: number): string {
  return `${Number((ratio * 100).toFixed(6))}%`;
}
