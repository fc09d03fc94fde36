export const REPORT_FORMATS = ["html", "json", "csv"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

export const REPORT_TYPES: Readonly<Record<ReportFormat, string>> = {
  html: "text/html; charset=UTF-8",
  json: "application/json",
  csv: "text/csv; charset=UTF-8",
};

export function isReportFormat(text: string): text is ReportFormat {
  return REPORT_FORMATS.some((format) => format === text);
}
