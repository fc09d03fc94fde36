import { html, raw } from "hono/html";
import { humanDuration } from "../../platform/humanize.ts";
import type { Fields } from "../../kernel/text/field.ts";
import { ago, type Markup, section, untrusted } from "../../http/markup/markup.ts";
import { amount } from "../../http/markup/wording.ts";
import { type ShownPoint, VALUE_HISTORIES, type ValueStatus, VALUES_SHOWN } from "./facts.ts";

const HEIGHT = 40;
const LINE = 1.5;

/** The page shows each value as it came last, and its last week. */
export function valueSection(upstream: Fields, details: Fields, nowMs: number): Markup | "" {
  const values = VALUES_SHOWN.of(upstream);
  if (values === undefined) return "";
  const histories = VALUE_HISTORIES.of(details);
  const items = values.map((value) => {
    const points = histories?.find(({ name }) => name === value.name)?.points ?? [];
    return html`<dt>${untrusted(value.name)}</dt>
      <dd>
        ${lastSeen(value, points.at(-1), nowMs)} ${value.credit ? html`<p>${value.credit.sentence}</p>` : ""}
        ${sparkline(value.name, points)}
      </dd>`;
  });
  return section("Values", html`<dl class="facts values">${items}</dl>`);
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
    <p class="of">${least} to ${most} within ${humanDuration(newest.atMs - first.atMs)}</p>`;
}
