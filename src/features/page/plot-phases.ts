import { html, raw } from "hono/html";
import { happenedPhases, type PhaseTimesMs } from "../../kernel/exchange/exchange.ts";
import { humanLatency } from "../../platform/humanize.ts";
import type { Markup } from "../../http/markup/markup.ts";
import { percentOf } from "../../http/markup/wording.ts";

/** How the time of one poll divides into phases: a bar, and the same in words. */
export function phaseBar(phasesMs: PhaseTimesMs): Markup {
  const happened = happenedPhases(phasesMs);
  if (happened.length === 0) return html`<p class="phases">no phase was reached</p>`;
  const totalMs = happened.reduce((sum, { ms }) => sum + ms, 0);
  const parts = happened.map(({ phase, beforeMs, ms }) => {
    const x = percentOf(beforeMs, totalMs);
    return `<rect class="${phase}" x="${x}%" width="${percentOf(ms, totalMs)}%" height="8"/>`;
  });
  return html`<div class="phases">
    ${raw(`<svg class="bar" height="8" aria-hidden="true">${parts.join("")}</svg>`)}
    <ul>
      ${happened.map(
        ({ phase, words, ms }) =>
          html`<li>
            ${raw(`<svg width="8" height="8" aria-hidden="true"><rect class="${phase}" width="8" height="8"/></svg>`)}
            ${words} <b>${humanLatency(ms)}</b>
          </li>`,
      )}
    </ul>
  </div>`;
}
