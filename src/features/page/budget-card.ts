import { html } from "hono/html";
import { capOf } from "../../kernel/config/part.ts";
import type { BudgetStatus } from "../status/status.ts";
import { gauge } from "../../http/markup/gauge.ts";
import { ahead, moment, type Markup } from "../../http/markup/markup.ts";
import { amount, percent } from "../../http/markup/wording.ts";
import type { Block } from "../../http/markup/block.ts";

export function budgetCard(budget: BudgetStatus, nowMs: number, blocks: readonly Block[]): Markup {
  const { name, rates, pausedUntilMs, pausedBecause } = budget;
  const isPaused = pausedUntilMs > nowMs;
  return html`<li class="budget${isPaused ? " paused" : ""}">
    <h3>${name}</h3>
    ${
      isPaused
        ? html`<p class="pause">
            <strong>Paused</strong>: the next poll can be sent ${ahead(pausedUntilMs, nowMs)}
            <span class="of">at ${moment(pausedUntilMs, nowMs)}</span>
            ${pausedBecause === undefined ? "" : html`<span class="of">Why this budget: ${pausedBecause}.</span>`}
          </p>`
        : ""
    }
    ${rates.map((rate) => rateGauge(rate, budget, blocks))} ${blocks.map((block) => block.budget?.(budget))}
  </li>`;
}

function rateGauge(
  { label, limit, cap, leases }: BudgetStatus["rates"][number],
  budget: BudgetStatus,
  blocks: readonly Block[],
): Markup {
  const { share, vantage } = budget;
  const configured = capOf(limit, budget);
  const why = blocks.map((block) => block.lowered?.(budget)).find((words) => words !== undefined);
  const lowered = cap < configured ? `, lowered from ${amount(configured)}${why ?? ""}` : "";
  return html`<div class="rate">
    <p>
      <b>${amount(leases)}</b> of our <b>${amount(cap)}</b> leases in use
      <span class="of"
        >limit: ${amount(limit)} per ${label}; our share
        ${percent(share, share)}${vantage === undefined ? "" : `, divided by ${vantage.of}`}${lowered}</span
      >
    </p>
    ${gauge({ label: `leases in use: ${leases}, cap ${cap}, limit ${limit}`, full: limit, used: leases, mark: cap })}
  </div>`;
}
