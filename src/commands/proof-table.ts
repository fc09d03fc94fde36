import type { RequestLine } from "../config/load.ts";
import { formatPercentage } from "../kernel/text/percent.ts";
import { formatUnits } from "../platform/money.ts";
import { counted } from "../kernel/exchange/json-value.ts";
import type { BudgetProof, Demand, QuotaProof, RateProof } from "../proof/numbers.ts";
import type { Proof } from "../proof/proof.ts";
import type { Detection } from "../proof/detection.ts";
import { listing } from "../kernel/text/listing.ts";
import { inThousands } from "../platform/humanize.ts";
import { formatDuration } from "../kernel/time/duration.ts";

/** The proof, one block a budget, for a person to read. */
export function proofTable({ budgets }: Pick<Proof, "budgets">): string {
  return budgets.map(block).join("\n");
}

/** The request of each upstream, so that nobody is surprised by what is asked of whom. */
export function requestsTable(requests: readonly RequestLine[]): string {
  const width = Math.max(...requests.map(({ upstream }) => upstream.length));
  const rows = requests.map(({ upstream, method, url, isDefaultPath }) => {
    const but = isDefaultPath ? "  (the default path)" : "";
    return `  ${upstream.padEnd(width)}  ${method} ${url}${but}`;
  });
  return [title("each poll asks"), ...rows, ""].join("\n");
}

/** Upstreams of which it is known equally soon share a line. */
export function detectionTable(detections: readonly Detection[]): string {
  const linesOf = (whenOf: (of: Detection) => string): readonly string[] => {
    const alike = [...Map.groupBy(detections, whenOf)];
    const width = Math.max(16, ...alike.map(([when]) => when.length));
    return alike.map(
      ([when, upstreams]) => `  ${when.padEnd(width)}  ${listing(upstreams.map(({ upstream }) => upstream))}`,
    );
  };
  const known = linesOf(({ earliestMs, latestMs }) => `${readable(earliestMs)} to ${readable(latestMs)}`);
  const over = linesOf(({ looksAgain, overWithinMs }) => {
    const looks = looksAgain === 0 ? "" : `, sooner by ${counted(looksAgain, "look")} between two slots`;
    return `${readable(overWithinMs)}${looks}`;
  });
  return [title("an outage is known after"), ...known, "", title("and its end within"), ...over, ""].join(
    "\n",
  );
}

function title(text: string): string {
  return `── ${text} ${"─".repeat(Math.max(0, 75 - text.length))}`;
}

const BAR_WIDTH = 20;

function block(proof: BudgetProof): string {
  const rows = proof.rates.flatMap((rate) => [rateRow(rate, proof), ...rate.upstreams.map(demandRow)]);
  return [
    title(`budget ${proof.budget}${ofVantages(proof)}`),
    ...aligned([HEAD, ...rows]),
    "",
    `  pace      at least ${readable(proof.paceGapMs)} between two requests`,
    ...turnsLines(proof),
    `  restart   ${restart(proof.coldStart)}`,
    ...(proof.quota === undefined ? [] : [`  quota     ${quotaLine(proof.quota)}`]),
    ...(proof.spend === undefined ? [] : [`  spend     ${quotaLine(proof.spend)}`]),
    `  forecast  ${inThousands(Math.ceil(proof.requestsPer30d), " ")} requests in 30d`,
    "",
  ].join("\n");
}

function ofVantages({ vantage }: BudgetProof): string {
  return vantage === undefined ? "" : `, in ${vantage.of} equal parts`;
}

/** A cell for each column of the head. */
type Row = readonly string[];

const HEAD: Row = ["rate", "limit", "share", "cap", "demand", "headroom", ""];

function rateRow({ rate, cap, demand, headroom }: RateProof, { share, vantage, fits }: BudgetProof): Row {
  const limit = vantage === undefined ? `${rate.requests}` : `${rate.requests}/${vantage.of}`;
  return [
    `any ${rate.label}`,
    limit,
    formatPercentage(share),
    String(cap),
    String(demand),
    String(headroom),
    bar(demand, cap, fits),
  ];
}

function demandRow({ upstream, schedule, slots, confirm, requests }: Demand): Row {
  const confirmed =
    confirm === 0 ? "none confirmed" : `each confirmed ${confirm === 1 ? "once" : `${confirm} times`}`;
  return [
    `  ${upstream}`,
    "",
    "",
    "",
    String(requests),
    "",
    `${schedule}: ${counted(slots, "slot")}, ${confirmed}`,
  ];
}

/** The demand, as a part of the cap. */
function bar(demand: number, cap: number, fits: boolean): string {
  const part = cap === 0 ? Infinity : demand / cap;
  const filled = Math.min(BAR_WIDTH, Math.ceil(part * BAR_WIDTH));
  const note = part <= 1 ? `${Math.round(part * 100)}% used` : fits ? "in turn" : "does not fit";
  return `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} ${note}`;
}

/** The first and the last column to the left, numbers to the right. */
function aligned(rows: readonly Row[]): readonly string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        if (column === row.length - 1) return cell;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd()
      .replace(/^/, "  "),
  );
}

function turnsLines({ turns }: BudgetProof): readonly string[] {
  if (turns?.longestWaitMs === undefined || !turns.inTime) return [];
  const { longestWaitMs, shortestGapMs } = turns;
  const until =
    longestWaitMs <= shortestGapMs
      ? `, of ${readable(shortestGapMs)} until its next slot`
      : "; whose next slot is nearer is sent sooner, always before it";
  return [
    `  turns     slots that come at once are sent one after the other: the last waits up to ${readable(longestWaitMs)}${until}`,
  ];
}

function restart({ rule, waitMs }: BudgetProof["coldStart"]): string {
  return rule === "pace_gap"
    ? `waits one pace gap, ${readable(waitMs)}: a predecessor's requests and ours fit the limit together`
    : `waits ${readable(waitMs)}, until a predecessor's requests are no longer counted`;
}

function quotaLine({ quota, scheduled, spentEarly, currency }: QuotaProof): string {
  const [asked, most] = [scheduled, quota.most].map((units) =>
    inThousands(formatUnits(units, currency), " "),
  );
  const early = quota.onExhaust === "stop" ? ": polls will stop early" : ": does not fit";
  return `schedules ask for ${asked} of ${most} ${currency ?? "requests"} in ${formatDuration(quota.perMs)}, without confirmations${spentEarly ? early : ""}`;
}

/** 90s as 1m30s, 1500ms as 1.5s: to read, not to be parsed again. */
function readable(durationMs: number): string {
  if (durationMs < 60_000)
    return durationMs < 1000 ? `${Math.ceil(durationMs)}ms` : `${Number((durationMs / 1000).toFixed(2))}s`;
  const seconds = Math.ceil(durationMs / 1000);
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  return parts
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
}
