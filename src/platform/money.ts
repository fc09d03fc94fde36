/** Money is counted in billionths of its currency, so that sums are exact. */

export const UNITS_OF_MONEY = 1_000_000_000;

/** Up to the next billionth: what is counted is never less than what is paid. */
export function unitsOf(amount: number): number {
  return Math.ceil(Number((amount * UNITS_OF_MONEY).toPrecision(15)));
}

/** Of a quota of money, or without a currency of one of requests. */
export function formatUnits(units: number, currency: string | undefined): string {
  return currency === undefined ? String(units) : formatMoney(units);
}

/** `12.30`, `0.000125`: at least two digits after the point, and no more than it takes. */
export function formatMoney(units: number): string {
  return (units / UNITS_OF_MONEY).toFixed(9).replace(/0{1,7}$/, "");
}
