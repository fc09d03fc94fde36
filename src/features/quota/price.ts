/** A poll has a price. */

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

/** Whatever may cost anything takes one unit at least, or a spend that is used up would not stop it. */
export function mostOf(price: Price | undefined): number {
  return (price?.parts ?? []).reduce(
    (sum, part) => sum + (part.kind === "request" ? part.units : part.mostUnits || Math.min(1, part.units)),
    0,
  );
}
