import { html, raw } from "hono/html";
import { ENDS_SOON_MS } from "../history/credit.ts";
import { humanDuration } from "../history/humanize.ts";
import type { Status, UpstreamFacts, ShownPoint, ValueStatus } from "../status/status.ts";
import { ago, type Markup, untrusted } from "./markup.ts";
import { amount } from "./wording.ts";

const HEIGHT = 40;
const LINE = 1.5;

/** What the answers tell beside their outcome: each value as it came last, and its last week. */
export function valueList({ name: upstream, values = [] }: UpstreamFacts, status: Status): Markup {
  return html`<dl class="facts values">
    ${values.map((value) => {
      const points = status.valueHistory(upstream, value.name);
      return html`<dt>${untrusted(value.name)}</dt>
        <dd>
          ${lastSeen(value, points.at(-1), status.nowMs)}
          ${value.credit ? html`<p>${value.credit.sentence}</p>` : ""} ${sparkline(value.name, points)}
        </dd>`;
    })}
  </dl>`;
}

/** Only what is about to be empty: for the page of all upstreams. */
export function creditsThatEnd({ values = [] }: UpstreamFacts, nowMs: number): Markup | string {
  const ending = values.filter(({ credit }) => (credit?.emptyAtMs ?? Infinity) < nowMs + ENDS_SOON_MS);
  if (ending.length === 0) return "";
  return html`<p class="reason">
    ${ending.map(({ name, credit }) => html`<strong>${name}:</strong> ${credit?.sentence} `)}
  </p>`;
}

function lastSeen(
  { value, seenAtMs, found, unit }: ValueStatus,
  before: ShownPoint | undefined,
  nowMs: number,
): Markup {
  if (value !== undefined && seenAtMs !== undefined)
    return html`<b>${amount(value)}</b> ${unit} <span class="of">${ago(seenAtMs, nowMs)}</span>`;
  const last = before
    ? html`<span class="of">last seen ${ago(before.atMs, nowMs)}: ${amount(before.value)} ${unit}</span>`
    : "";
  if (found !== undefined)
    return html`the answers have <code>${untrusted(found)}</code> there, which is no number ${last}`;
  return before ? html`not in the answers now ${last}` : html`not seen in any answer yet`;
}

/** From 0 upwards. Its drawing may be raw markup: numbers, and a name from the config. */
function sparkline(name: string, points: readonly ShownPoint[]): Markup | string {
  const [first, newest] = [points.at(0), points.at(-1)];
  if (first === undefined || newest === undefined || first === newest) return "";
  const values = points.map(({ value }) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const xOf = (atMs: number): number =>
    Math.round(((atMs - first.atMs) / (newest.atMs - first.atMs)) * 10_000) / 100;
  const yOf = (value: number): number =>
    Math.round((HEIGHT - LINE - ((value - low) / (high - low || 1)) * (HEIGHT - 2 * LINE)) * 10) / 10;
  const path = points.map(({ atMs, value }, index) => `${index === 0 ? "M" : "L"}${xOf(atMs)} ${yOf(value)}`);
  const [least, most] = [amount(Math.min(...values)), amount(Math.max(...values))];
  const label = `${name}, from ${amount(first.value)} to ${amount(newest.value)}; at least ${least}, at most ${most}`;
  const drawing = raw(
    `<svg class="spark" height="${HEIGHT}" viewBox="0 0 100 ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}"><line class="base" x1="0" x2="100" y1="${yOf(0)}" y2="${yOf(0)}"/><path class="curve" d="${path.join("")}"/></svg>`,
  );
  return html`${drawing}
    <p class="of">${least} to ${most} in the last ${humanDuration(newest.atMs - first.atMs)}</p>`;
}
