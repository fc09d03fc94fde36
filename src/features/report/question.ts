import type { Config, Vantage } from "../../kernel/config/config.ts";
import { type Asked, askedFor } from "./period.ts";
import { type Reported, reportedOf } from "./report.ts";

export const REPORT_FORMATS = ["html", "json", "csv"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** What a report is made of. */
export type ReportQuestion = {
  /** State files: of a fleet, one for each process that has polled them. */
  readonly paths: readonly string[];
  /** From where they were watched; undefined where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  readonly upstreams: readonly Reported[];
  readonly asked: Asked;
  readonly format: ReportFormat;
  readonly nowMs: number;
};

type Written = Parameters<typeof askedFor>[0] & {
  /** Empty for all. */
  readonly upstream: readonly string[];
  readonly format: string;
};

type Wrong = { readonly why: string; readonly isUnknown: boolean };

/** What a person wrote, or what is wrong with it. */
export function questionFor(
  written: Written,
  { upstreams, vantage }: Pick<Config, "upstreams" | "vantage">,
  paths: readonly string[],
  nowMs: number,
): ReportQuestion | Wrong {
  const asked = askedFor(written, nowMs);
  if (typeof asked === "string") return { why: asked, isUnknown: false };
  const format = REPORT_FORMATS.find((each) => each === written.format);
  if (format === undefined)
    return { why: `format must be one of ${REPORT_FORMATS.join(", ")}`, isUnknown: false };
  const wanted = new Set(written.upstream);
  const found = upstreams.filter(({ name }) => wanted.size === 0 || wanted.has(name));
  const known = new Set(found.map(({ name }) => name));
  const unknown = written.upstream.find((name) => !known.has(name));
  if (unknown !== undefined)
    return { why: `no upstream of the config is called ${JSON.stringify(unknown)}`, isUnknown: true };
  return { paths, vantage, upstreams: found.map(reportedOf), asked, format, nowMs };
}
