import { html } from "hono/html";
import { capOf } from "../../core/config/config.ts";
import { spokenDuration } from "../../core/status/spoken.ts";
import type { BudgetStatus, QuotaStatus } from "../../core/status/status.ts";
import { gauge } from "./plot-gauge.ts";
import { ahead, moment, type Markup } from "./markup.ts";
import { grouped, percent } from "./wording.ts";

export function budgetCard(budget: BudgetStatus, nowMs: number): Markup {
  const { name, share, rates, pausedUntilMs, quota } = budget;
  const isPaused = pausedUntilMs > nowMs;
  return html`<li class="budget${isPaused ? " paused" : ""}">
    <h3>${name}</h3>
    ${
      isPaused
        ? html`<p class="pause">
            <strong>Paused</strong>: the next poll may go out ${ahead(pausedUntilMs, nowMs)}
            <span class="of">at ${moment(pausedUntilMs, nowMs)}</span>
          </p>`
        : ""
    }
    ${rates.map((rate) => rateGauge(rate, share))} ${quota === undefined ? "" : quotaGauge(quota)}
    <p class="said">${said(budget)}</p>
  </li>`;
}

function rateGauge({ label, limit, cap, leases }: BudgetStatus["rates"][number], share: number): Markup {
  const configured = capOf({ requests: limit, perMs: 0, label }, share);
  const lowered = cap < configured ? `, lowered from ${grouped(configured)} by their word` : "";
  return html`<div class="rate">
    <p>
      <b>${grouped(leases)}</b> of our <b>${grouped(cap)}</b> leases held
      <span class="of"
        >their limit: ${grouped(limit)} in any ${label}; our share ${percent(share)}${lowered}</span
      >
    </p>
    ${gauge({ label: `${leases} leases of a cap of ${cap} and a limit of ${limit}`, full: limit, used: leases, mark: cap })}
  </div>`;
}

function quotaGauge({ limit, used, forecast, perMs }: QuotaStatus): Markup {
  const isEarly = forecast > limit;
  return html`<div class="rate quota">
    <p>
      <b>${grouped(used)}</b> of our quota of <b>${grouped(limit)}</b> used in ${spokenDuration(perMs)}
      <span class="of"
        >the schedule needs ${grouped(forecast)}${isEarly ? ": it will be spent early" : ""}</span
      >
    </p>
    ${gauge({ label: `${used} of a quota of ${limit}; forecast ${Math.round(forecast)}`, full: limit, used, mark: forecast })}
  </div>`;
}

function said({ advertised }: BudgetStatus): string {
  if (advertised === undefined) return "They have said nothing about their limit.";
  const { limit, remaining } = advertised;
  if (remaining === undefined) return `They last said: a limit of ${grouped(limit ?? 0)}.`;
  return `They last said: ${grouped(remaining)} left${limit === undefined ? "" : ` of ${grouped(limit)}`}.`;
}
