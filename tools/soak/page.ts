import { availableParallelism, cpus } from "node:os";
import { markdownTable } from "../markdown-table.ts";
import type { Soaked } from "./soak.ts";
import { flatnessOf, percent, type Flatness } from "./verdict.ts";
import type { Sight } from "./watch.ts";

/** Rows of the story, at most. */
const ROWS = 20;

export function soakPage(soaked: Soaked, upstreams: number): string {
  const { sights, minutes } = soaked;
  return `# Soak: many days in minutes

<!-- Written by \`npm run soak -- --minutes ${minutes} --upstreams ${upstreams} --write\` from what it measures. -->

${introduction(soaked, upstreams)}
${machine(soaked)}

## Is it flat?

A straight line (least squares) through the second half of the run. A measure is flat if it grows by no more than allowed,
or by no more than three standard errors of its own noise. The heap is measured after a full garbage
collection, triggered by a module that only the soak loads into the process.

${markdownTable(["What", "Mean", "Gained", "Standard error", "At most", "Flat"], flatnessOf(sights).map(flatnessRow))}
One thing still grows, by design and with a bound: a count of each outcome for each of the last 60 minutes and
720 hours, a few dozen bytes per upstream and minute.

## Is anything lost?

${accounts(soaked)}

## Over time

${markdownTable(["Minute", "Polls", "Skipped", "Heap after GC", "Resident", "Open files", "Resources", "Series", "Scrape"], storyRows(sights))}
## What the polls of upstreams that stayed met

${markdownTable(
  ["Outcome", "Times"],
  [...soaked.counts].map(([outcome, times]) => [outcome, String(times)]),
)}`;
}

function introduction({ sights, minutes, polls, reloads, visits }: Soaked, upstreams: number): string {
  return `The real program, as one process, watched ${upstreams} upstreams once a second for ${minutes} minutes, ${perSecond(sights).toFixed(0)} polls a
second: ${polls} polls, as many as the two upstreams of the shipped config get in ${daysOf(polls)} days. The upstreams are raw
socket servers in another process, some with TLS, some with reused connections. Two polls in five met a fault, a different one
each second: errors and unusual statuses, empty, cut, malformed and compressed-bomb bodies, truncation, resets, silence, slow
bytes, broken HTTP, headers too long, 429 with \`Retry-After\`, 402, exhausted limits. A state file was in use. Metrics, pages and API were read
${visits} times, and the config was changed ${reloads} times: ten upstreams were removed, ten others added, two hundred got
another request header; every third config was faulty and refused.
`;
}

function machine({ sights, cpuShare }: Soaked): string {
  const { polls = 0, skipped = 0 } = sights.at(-1) ?? {};
  return `Measured on ${availableParallelism()} cores of ${cpus()[0]?.model ?? "an unknown processor"}, Node.js ${process.version}. The upstreams and the observer ran on the
same machine, and so did other work: this is no benchmark. The program itself used ${percent(cpuShare)} of one core. A
poll that times out and is then confirmed overlaps with the next slot, and a process that gets no CPU time
is late: such slots are skipped, and counted as skipped. They were ${skipped} of ${polls + skipped}, by cause in the last table.`;
}

function accounts(soaked: Soaked): string {
  const { sights, lost, unheard, polls, sent, requests } = soaked;
  const unbalanced = sights.filter((sight) => sight.unbalanced.length > 0).length;
  return `- At each of ${sights.length} scrapes that were checked, slots = polls + in flight + skipped for every upstream: ${unbalanced === 0 ? "it always held" : `**broken in ${unbalanced}**`}.
- The schedule's slots between the first and the last scrapes, for upstreams without confirmations, where they can be counted
  exactly: ${lost.length === 0 ? "none is missing, none too many" : `**wrong for ${lost.length} upstreams**`}.
- Requests: ${requests} by the upstreams' own count, ${sent} by Pacewatch's: ${unheard.length === 0 ? "equal for each upstream" : `**different for ${unheard.length} upstreams**`}. Of ${polls} polls,
  ${polls - sent} ended before their request was sent.
- From slot to sending: ${soaked.meanDelayMs.toFixed(1)} ms on average. The log has ${soaked.logLines} lines. After SIGTERM the exit code was ${soaked.exitCode}.`;
}

function perSecond(sights: readonly Sight[]): number {
  const first = sights[0];
  const last = sights.at(-1);
  if (first === undefined || last === undefined) throw new Error("cannot tell: a soak must have sights");
  return (1_000 * (last.polls - first.polls)) / (last.atMs - first.atMs);
}

/** One of the services is polled 12 times a minute, the other 4 times. */
function daysOf(polls: number): string {
  return (polls / (16 * 60 * 24)).toFixed(0);
}

function flatnessRow({
  measure,
  name,
  mean,
  growth,
  error,
  mostGrowth,
  isFlat,
}: Flatness): readonly string[] {
  const isBytes = measure === "heapBytes" || measure === "residentBytes" || measure === "scrapeBytes";
  return [
    name,
    isBytes ? megabytes(mean) : mean.toFixed(0),
    percent(growth),
    percent(error),
    percent(mostGrowth),
    isFlat ? "yes" : "**no**",
  ];
}

function storyRows(sights: readonly Sight[]): readonly (readonly string[])[] {
  const startMs = (sights[0]?.atMs ?? 0) - ((sights[1]?.atMs ?? 0) - (sights[0]?.atMs ?? 0));
  const each = Math.max(1, Math.ceil(sights.length / ROWS));
  const shown = sights.filter((_, index) => (sights.length - 1 - index) % each === 0);
  return shown.map((sight) => [
    ((sight.atMs - startMs) / 60_000).toFixed(1),
    String(sight.polls),
    String(sight.skipped),
    megabytes(sight.heapBytes),
    megabytes(sight.residentBytes),
    sight.openFiles.toFixed(0),
    sight.activeResources.toFixed(0),
    String(sight.series),
    megabytes(sight.scrapeBytes),
  ]);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}
