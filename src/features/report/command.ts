import { setFlagsFromString } from "node:v8";
import { writeReport } from "./reporting.ts";
import { isReportFormat, REPORT_FORMATS } from "./formats.ts";
import { askedFor } from "./period.ts";
import { reportedOf } from "./report.ts";
import { messageOf } from "../../kernel/text/escape.ts";
import { type CommandIo, loadOrRefuse } from "../../config/command-line.ts";

export type ReportOptions = CommandIo & {
  /** Empty for all. */
  readonly upstream: readonly string[];
  readonly month?: string;
  readonly from?: string;
  readonly to?: string;
  readonly format: string;
  /** In place of the config's own. */
  readonly state: readonly string[];
  readonly wallNowMs: number;
};

/** Writes the report from the state file, also while the daemon runs: it only reads. */
export async function report(options: ReportOptions): Promise<number> {
  const { upstream, format, state, wallNowMs, out, err } = options;
  const refuse = (why: string): number => {
    err(`cannot report: ${why}\n`);
    return 1;
  };
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { config } = loaded;
  const paths = state.length > 0 ? state : config.state === undefined ? [] : [config.state.path];
  if (paths.length === 0)
    return refuse(
      'nothing is kept: the config has no "state.path", such as state: { path: pacewatch.db }, and --state names no file',
    );
  const asked = askedFor(options, wallNowMs);
  if (typeof asked === "string") return refuse(asked);
  if (!isReportFormat(format)) return refuse(`--format must be one of ${REPORT_FORMATS.join(", ")}`);
  const unknown = upstream.find((name) => config.upstreams.every((each) => each.name !== name));
  if (unknown !== undefined) return refuse(`no upstream of the config is called ${JSON.stringify(unknown)}`);
  const reported = config.upstreams
    .filter(({ name }) => upstream.length === 0 || upstream.includes(name))
    .map(reportedOf);
  // It makes much garbage, which V8 would let grow: so a year of 100 upstreams takes 125 MB, not 170, in the same time.
  setFlagsFromString("--semi-space-growth-factor=1");
  // Of eleven such years as HTML, the largest took 155 MB where the old heap may grow by half before it is collected.
  setFlagsFromString("--heap-growing-percent=15");
  let isBegun = false;
  const { vantage } = config;
  try {
    const question = { paths, vantage, upstreams: reported, asked, format, nowMs: wallNowMs };
    for (const piece of writeReport(question)) {
      out(piece);
      isBegun = true;
    }
    return 0;
  } catch (error) {
    return refuse(`${messageOf(error)}${isBegun ? "; what was written is not the whole report" : ""}`);
  }
}
