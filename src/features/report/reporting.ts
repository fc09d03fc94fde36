import { keptIn } from "./report-rows.ts";
import { periodOf } from "./period.ts";
import { isEmpty, type Report, type UpstreamReport, upstreamReport } from "./report.ts";
import { csvOf, jsonOf } from "./text-formats.ts";
import type { ReportFormat, ReportQuestion } from "./question.ts";
import { reportPage } from "./page.ts";

const WRITERS: Readonly<Record<ReportFormat, (report: Report) => Iterable<string>>> = {
  html: reportPage,
  json: jsonOf,
  csv: csvOf,
};

const PART_CHARS = 65_536;

/** Writes in parts, and reads the incidents of each part for it. Throws where a file cannot be read. */
export function* writeReport(question: ReportQuestion): Generator<string> {
  const { asked, format, nowMs, vantage } = question;
  let upstreams = reportsOf(question);
  if (asked.ifEmpty !== undefined && upstreams.every(isEmpty))
    upstreams = reportsOf({ ...question, asked: asked.ifEmpty });
  let part = "";
  for (const piece of WRITERS[format]({ version: 1, atMs: nowMs, vantage, upstreams })) {
    part += piece;
    if (part.length < PART_CHARS) continue;
    yield part;
    part = "";
  }
  yield part;
}

function reportsOf({ paths, upstreams, asked, nowMs }: ReportQuestion): readonly UpstreamReport[] {
  const reports = new Map<string, UpstreamReport>();
  // Those of one time zone have the same days.
  for (const [timeZone, some] of Map.groupBy(upstreams, ({ sla }) => sla?.timeZone ?? "UTC")) {
    const period = periodOf(asked, timeZone, nowMs);
    const files = paths.map((path) => keptIn(path, some, period));
    for (const upstream of some) {
      const kept = files.flatMap((file) => file.get(upstream.name) ?? []);
      reports.set(upstream.name, upstreamReport(upstream, kept, period, nowMs));
    }
  }
  return upstreams.flatMap(({ name }) => reports.get(name) ?? []);
}
