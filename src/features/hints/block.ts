import { html } from "hono/html";
import type { Markup } from "../../http/markup/markup.ts";
import { amount } from "../../http/markup/wording.ts";
import type { RateStatus } from "../../kernel/budget/ledger.ts";
import type { Fields } from "../../kernel/text/field.ts";
import { ADVERTISED, type Advertised, LIMITS } from "./facts.ts";

/** The card of a budget shows what the upstream says of its limits. */
export function hintBlock(budget: Fields): Markup {
  return html`<p class="said">${advertisedLine(ADVERTISED.of(budget))}</p>
    ${LIMITS.of(budget)?.map(({ sentence }) => html`<p class="said">It says ${sentence}.</p>`)}`;
}

export function loweredBy(budget: Fields & { readonly rates: readonly RateStatus[] }): string {
  const advertisedLimit = ADVERTISED.of(budget)?.limit ?? Infinity;
  // The newest limit that it told is not the only one that is kept to: others are learned from its refusals.
  return budget.rates.some(({ limit }) => advertisedLimit < limit)
    ? " by the advertised limit"
    : " by what the upstream told or refused";
}

function advertisedLine(advertised: Advertised | undefined): string {
  if (advertised === undefined) return "The upstream has not advertised a limit.";
  const { limit, remaining } = advertised;
  if (remaining === undefined) return `Last advertised: a limit of ${amount(limit ?? 0)}.`;
  return `Last advertised: ${amount(remaining)} left${limit === undefined ? "" : ` of ${amount(limit)}`}.`;
}
