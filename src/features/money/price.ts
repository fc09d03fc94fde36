/** What a poll costs. Money is counted in billionths of its currency, so that sums are exact. */

export const UNITS_OF_MONEY = 1_000_000_000;

/** Each part is added. */
export type Price = { readonly currency: string; readonly parts: readonly PricePart[] };

export type PricePart =
  | { readonly kind: "request"; readonly units: number }
  | {
      readonly kind: "answer";
      /** A JSON pointer: how much of it was used stands there. */
      readonly of: string;
      /** `units` for so much of it. */
      readonly per: number;
      readonly units: number;
      /** Reserved before the request, and charged where the answer does not tell. */
      readonly mostUnits: number;
    };

/** What may cost anything takes one unit at least, or a spend that is used up would not stop it. */
export function mostOf(price: Price | undefined): number {
  return (price?.parts ?? []).reduce(
    (sum, part) => sum + (part.kind === "request" ? part.units : part.mostUnits || Math.min(1, part.units)),
    0,
  );
}

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
