import { html } from "hono/html";
import { gauge } from "../../http/markup/gauge.ts";
import type { Markup } from "../../http/markup/markup.ts";
import type { Fields } from "../../kernel/text/field.ts";
import { humanDuration } from "../../platform/humanize.ts";
import { QUOTA, QUOTAS, SPEND } from "./facts.ts";
import type { QuotaName } from "./quota-forecast.ts";
import { amountText, type QuotaSnapshot } from "./standing.ts";

/** How much of them is used, and when they are used up, on the card of a budget. */
export function quotaBlock(budget: Fields): Markup {
  const own = [QUOTA.of(budget), SPEND.of(budget)].filter((quota) => quota !== undefined);
  return html`${own.map(quotaGauge)}
  ${QUOTAS.of(budget)?.map(({ quota, sentence }) => html`<p class="said"><b>${QUOTA_WORDS[quota]}</b>: ${sentence}</p>`)}`;
}

const QUOTA_WORDS: Readonly<Record<QuotaName, string>> = {
  own: "Our own quota",
  spend: "Our own spend",
  "1d": "Its daily quota",
  "7d": "Its weekly quota",
  "30d": "Its monthly quota",
};

function quotaGauge({ limit, used, unconfirmed, forecast, perMs, currency }: QuotaSnapshot): Markup {
  const told = (of: number): string => amountText(of, currency);
  const [taken, most, needed] = [used, limit, forecast].map(told);
  const tooMuch = forecast > limit ? ": it will not last" : "";
  const doubtful = `${told(used - unconfirmed)} were ${currency === undefined ? "sent" : "spent"}. Up to ${told(unconfirmed)} more may have been: Pacewatch was killed while they were in flight.`;
  return html`<div class="rate quota">
    <p>
      <b>${taken}</b> of our ${currency === undefined ? "quota" : "spend"} of <b>${most}</b> ${currency ?? ""}
      used in ${humanDuration(perMs)}
      <span class="of">the schedule needs ${needed}${tooMuch}</span>
    </p>
    ${unconfirmed === 0 ? "" : html`<p class="said">${doubtful}</p>`}
    ${gauge({ label: `${taken} used of ${most}, forecast ${needed}`, full: limit, used, mark: forecast })}
  </div>`;
}
