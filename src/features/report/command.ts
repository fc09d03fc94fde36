import { setFlagsFromString } from "node:v8";
import { writeReport } from "./reporting.ts";
import { questionFor } from "./question.ts";
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
  const { state, wallNowMs, out, err } = options;
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
  const question = questionFor(options, config, paths, wallNowMs);
  if ("why" in question) return refuse(question.why);
  // It makes much garbage, which V8 would let grow: so a year of 100 upstreams takes 125 MB, not 170, in the same time.
  setFlagsFromString("--semi-space-growth-factor=1");
  // Of eleven such years as HTML, the largest took 155 MB where the old heap may grow by half before it is collected.
  setFlagsFromString("--heap-growing-percent=15");
  let isBegun = false;
  try {
    for (const piece of writeReport(question)) {
      out(piece);
      isBegun = true;
    }
    return 0;
  } catch (error) {
    return refuse(`${messageOf(error)}${isBegun ? "; what was written is not the whole report" : ""}`);
  }
}
