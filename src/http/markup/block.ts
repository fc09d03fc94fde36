import type { RateStatus } from "../../kernel/budget/ledger.ts";
import type { Fields } from "../../kernel/text/field.ts";
import type { Markup } from "./markup.ts";

/** What a feature draws of the facts that it brought. */
export type Block = {
  /** On the page of an upstream, after why it is as it is. */
  readonly upstream?: (upstream: Fields, nowMs: number) => Markup | "";
  /** A section of that page. */
  readonly section?: (upstream: Fields, details: Fields, nowMs: number) => Markup | "";
  /** On the card of a budget. */
  readonly budget?: (budget: Fields) => Markup;
  /** By what its caps are lowered, where they are. */
  readonly lowered?: (budget: Fields & { readonly rates: readonly RateStatus[] }) => string;
};
