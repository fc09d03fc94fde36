import { html, raw } from "hono/html";
import { capOf } from "../../kernel/config/part.ts";
import { amountText } from "../history/credit-sentence.ts";
import { humanDuration } from "../history/humanize.ts";
import type { BudgetStatus } from "../status/status.ts";
import { ahead, moment, type Markup } from "./markup.ts";
import { amount, percent, percentOf } from "./wording.ts";

export function budgetCard(budget: BudgetStatus, nowMs: number): Markup {
  const { name, rates, pausedUntilMs, pausedBecause, quota, spend } = budget;
  const isPaused = pausedUntilMs > nowMs;
  return html`<li class="budget${isPaused ? " paused" : ""}">
    <h3>${name}</h3>
    ${
      isPaused
        ? html`<p class="pause">
            <strong>Paused</strong>: the next poll can be sent ${ahead(pausedUntilMs, nowMs)}
            <span class="of">at ${moment(pausedUntilMs, nowMs)}</span>
            ${pausedBecause === undefined ? "" : html`<span class="of">The refusal was taken for this budget's: ${pausedBecause}.</span>`}
          </p>`
        : ""
    }
    ${rates.map((rate) => rateGauge(rate, budget))} ${quota === undefined ? "" : quotaGauge(quota)}
    ${spend === undefined ? "" : quotaGauge(spend)}
    ${(budget.quotas ?? []).map(({ quota: each, sentence }) => html`<p class="said"><b>${QUOTA_WORDS[each]}</b>: ${sentence}</p>`)}
    <p class="said">${advertisedLine(budget)}</p>
    ${(budget.limits ?? []).map(({ sentence }) => html`<p class="said">It says ${sentence}.</p>`)}
  </li>`;
}

const QUOTA_WORDS: Readonly<Record<NonNullable<BudgetStatus["quotas"]>[number]["quota"], string>> = {
  own: "Our own quota",
  spend: "Our own spend",
  "1d": "Its daily quota",
  "7d": "Its weekly quota",
  "30d": "Its monthly quota",
};

function rateGauge(
  { label, limit, cap, leases }: BudgetStatus["rates"][number],
  budget: BudgetStatus,
): Markup {
  const { share, vantage, rates, advertised } = budget;
  const configured = capOf(limit, budget);
  const advertisedLimit = advertised?.limit ?? Infinity;
  const isAdvertised = rates.some((rate) => advertisedLimit < rate.limit);
  // The newest limit that it told is not the only one that is kept to: others are learned from its refusals.
  const why = isAdvertised ? " by the advertised limit" : " by what the upstream told or refused";
  const lowered = cap < configured ? `, lowered from ${amount(configured)}${why}` : "";
  return html`<div class="rate">
    <p>
      <b>${amount(leases)}</b> of our <b>${amount(cap)}</b> leases in use
      <span class="of"
        >limit: ${amount(limit)} per ${label}; our share
        ${percent(share)}${vantage === undefined ? "" : `, divided by ${vantage.of}`}${lowered}</span
      >
    </p>
    ${gauge({ label: `${leases} leases in use, cap ${cap}, limit ${limit}`, full: limit, used: leases, mark: cap })}
  </div>`;
}

function quotaGauge({
  limit,
  used,
  unconfirmed,
  forecast,
  perMs,
  currency,
}: NonNullable<BudgetStatus["quota"]>): Markup {
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

function advertisedLine({ advertised }: BudgetStatus): string {
  if (advertised === undefined) return "The upstream has not advertised a limit.";
  const { limit, remaining } = advertised;
  if (remaining === undefined) return `Last advertised: a limit of ${amount(limit ?? 0)}.`;
  return `Last advertised: ${amount(remaining)} left${limit === undefined ? "" : ` of ${amount(limit)}`}.`;
}

const GAUGE_HEIGHT = 18;
const BAR_Y = 5;
const BAR_HEIGHT = 8;

export type Gauge = {
  /** The same in words. */
  readonly label: string;
  readonly full: number;
  readonly used: number;
  /** A line across the gauge: our cap, or a forecast. */
  readonly mark: number;
};

/** A bar from 0 to full: used is filled, the rest up to the mark is tinted. What exceeds `full` is drawn at its end. */
export function gauge({ label, full, used, mark }: Gauge): Markup {
  const [usedPercent, markPercent] = [percentOf(used, full), percentOf(mark, full)];
  return raw(
    `<svg class="gauge" height="${GAUGE_HEIGHT}" role="img" aria-label="${label}">` +
      `<rect class="track" y="${BAR_Y}" width="100%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<rect class="ours" y="${BAR_Y}" width="${markPercent}%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<rect class="used" y="${BAR_Y}" width="${usedPercent}%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<line class="mark" x1="${markPercent}%" x2="${markPercent}%" y1="0" y2="${GAUGE_HEIGHT}"/></svg>`,
  );
}
