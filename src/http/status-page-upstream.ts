import { html } from "hono/html";
import { diagnosisOf } from "../core/diagnosis.ts";
import { spokenDuration } from "../core/spoken.ts";
import type { StatusSnapshot, UpstreamStatus } from "../core/status.ts";
import { sign } from "./page-signs.ts";
import { latencyPlot } from "./plot-latency.ts";
import { pollStrip } from "./plot-strip.ts";
import { availabilityTable } from "./status-page-availability.ts";
import { facts } from "./status-page-facts.ts";
import { moment, type Markup } from "./status-page-markup.ts";
import { HEALTH_TITLES, SIDE_WORDS } from "./wording.ts";

const PLOT_HEIGHT = 88;
const SICK_PLOT_HEIGHT = 200;

export function upstreamCard(upstream: UpstreamStatus, snapshot: StatusSnapshot): Markup {
  const { name, health } = upstream;
  return html`<li class="upstream ${health.state}">
    <header>
      ${sign(health.state)}
      <h3><a href="upstreams/${name}">${name}</a></h3>
      ${stateLine(upstream, snapshot)}
    </header>
    ${reasonLine(upstream, snapshot)}
    ${seen(upstream, snapshot.nowMs, health.state === "up" ? PLOT_HEIGHT : SICK_PLOT_HEIGHT)}
  </li>`;
}

/** What the polls saw: drawn, and told in numbers. */
export function seen(upstream: UpstreamStatus, nowMs: number, plotHeight: number): Markup {
  return html`<div class="seen">
    <div class="drawn">${pollStrip(upstream.lastPolls, nowMs)} ${latencyPlot(upstream, plotHeight)}</div>
    <div class="told">${availabilityTable(upstream)} ${facts(upstream, nowMs)}</div>
  </div>`;
}

/** `Down for 14 min, since 12:03:10 UTC`, and when the trouble began, where that was in another state. */
export function stateLine({ name, health }: UpstreamStatus, { incidents, nowMs }: StatusSnapshot): Markup {
  const open = incidents.find((incident) => incident.upstream === name && incident.endedAtMs === undefined);
  const beganAtMs = open === undefined || open.startedAtMs >= health.sinceMs ? undefined : open.startedAtMs;
  return html`<p class="state">
    <strong>${HEALTH_TITLES[health.state]}</strong> for ${spokenDuration(Math.max(0, nowMs - health.sinceMs))}
    <span class="of"
      >since
      ${moment(health.sinceMs, nowMs)}${beganAtMs === undefined ? "" : html`; in trouble since ${moment(beganAtMs, nowMs)}`}</span
    >
  </p>`;
}

export function reasonLine(upstream: UpstreamStatus, snapshot: StatusSnapshot): Markup {
  const { side, reason, because } = diagnosisOf(upstream, snapshot);
  return html`<p class="reason">
    ${side === "nobody" ? "" : html`<strong>${SIDE_WORDS[side]}</strong> `}${reason}${because === "" ? "" : ` ${because}`}
  </p>`;
}
