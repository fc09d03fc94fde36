import { keptIn } from "../adapters/sqlite/report-rows.ts";
import { troubleOf } from "../adapters/sqlite/trouble.ts";
import type { Kept } from "../core/report/kept.ts";
import { type Asked, periodOf } from "../core/report/period.ts";
import { type Report, type Reported, type UpstreamReport, upstreamReport } from "../core/report/report.ts";
import { csvOf, jsonOf, markdownOf } from "../core/report/text-formats.ts";
import { type ReportFormat } from "../core/report/formats.ts";
import { reportPage } from "../http/page/report-page.ts";

export type ReportQuestion = {
  /** State files: of a fleet, one for each replica that has polled them. */
  readonly paths: readonly string[];
  readonly upstreams: readonly Reported[];
  readonly asked: Asked;
  readonly format: ReportFormat;
  readonly nowMs: number;
};

const WRITERS: Readonly<Record<ReportFormat, (report: Report) => Iterable<string>>> = {
  html: reportPage,
  markdown: markdownOf,
  json: jsonOf,
  csv: csvOf,
};

/** Reads the files at once, and writes in pieces. Throws where one cannot be read. */
export function writeReport({ paths, upstreams, asked, format, nowMs }: ReportQuestion): Iterable<string> {
  const byZone = Map.groupBy(upstreams, ({ sla }) => sla?.timeZone ?? "UTC");
  const reports = new Map<string, UpstreamReport>();
  for (const [timeZone, some] of byZone) {
    const period = periodOf(asked, timeZone, nowMs);
    const names = some.map(({ name }) => name);
    const kept = paths.map((path) => readOr(path, () => keptIn(path, names, period)));
    for (const upstream of some) {
      const those = kept.map((file) => file.get(upstream.name) ?? NOTHING);
      reports.set(upstream.name, upstreamReport(upstream, together(those), period, nowMs));
    }
  }
  const inOrder = upstreams.flatMap(({ name }) => reports.get(name) ?? []);
  return WRITERS[format]({ version: 1, atMs: nowMs, upstreams: inOrder });
}

function readOr<Read>(path: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw new Error(`the state file "${path}" cannot be read: it ${troubleOf(error).says}`, { cause: error });
  }
}

const NOTHING: Kept = { days: [], incidents: [] };

function together(files: readonly Kept[]): Kept {
  return {
    days: files.flatMap(({ days }) => days),
    incidents: files
      .flatMap(({ incidents }) => incidents)
      .sort((one, other) => one.startedAtMs - other.startedAtMs),
  };
}
