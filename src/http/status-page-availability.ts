import { html } from "hono/html";
import { spokenDuration } from "../core/spoken.ts";
import type { AvailabilityWindow, UpstreamStatus } from "../core/status.ts";
import type { Markup } from "./status-page-markup.ts";
import { grouped, percent } from "./wording.ts";

/** Availability of each window beside the objective, and in words whether it is met. */
export function availabilityTable({ name, availability, objective }: UpstreamStatus): Markup {
  return html`<table class="availability">
    <caption>
      Availability
      <span class="of">objective ${percent(objective.availability)}</span>
    </caption>
    <thead class="unseen">
      <tr>
        <th scope="col">Window</th>
        <th scope="col">Availability of ${name}</th>
        <th scope="col">Against the objective</th>
      </tr>
    </thead>
    <tbody>
      ${availability.map((window) => row(window, objective.availability))}
    </tbody>
  </table>`;
}

function row({ windowMs, ok, failed, ratio }: AvailabilityWindow, objective: number): Markup {
  const window = windowMs === 86_400_000 ? "24 h" : spokenDuration(windowMs);
  if (ratio === undefined)
    return html`<tr>
      <th scope="row">${window}</th>
      <td class="ratio">–</td>
      <td class="of">no polls that could tell</td>
    </tr>`;
  const isMet = ratio >= objective;
  return html`<tr class="${isMet ? "met" : "missed"}">
    <th scope="row">${window}</th>
    <td class="ratio">${percent(ratio)}</td>
    <td class="of">
      <b>${isMet ? "met" : "missed"}</b>: ${failed === 0 ? "none" : grouped(failed)} of
      ${grouped(ok + failed)} failed
    </td>
  </tr>`;
}
