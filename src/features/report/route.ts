import { isReportFormat, REPORT_FORMATS, REPORT_TYPES, type ReportFormat } from "./formats.ts";
import { type Asked, askedFor } from "./period.ts";
import { type HttpAnswer, type HttpRequest, textAnswer } from "../../http/guards/guard.ts";
import type { Config } from "../../kernel/config/config.ts";
import { askOnce } from "../../platform/thread.ts";
import { reportedOf } from "./report.ts";
import type { ReportQuestion } from "./reporting.ts";
import type { Answers, Pieces } from "../../http/routes/answers.ts";
import { get, type RoutesOf } from "../../http/routes/routes.ts";

export type ReportRequest = {
  readonly upstreams: readonly string[];
  readonly asked: Asked;
  readonly format: ReportFormat;
};

/** Asked anew for each request: a reload may have changed them. */
export type ReportDeps = {
  /** The upstreams of now. */
  status(): { readonly names: Iterable<string>; readonly nowMs: number };
  config(): Config;
};

type MakeReport = (request: ReportRequest, config: Config, nowMs: number) => Promise<Pieces>;

/** In the memory of the daemon: a month of a hundred upstreams. The command has no such bound. */
const MOST_REPORTED_DAYS = 3_200;

export function reportRoutes(deps: ReportDeps, make: MakeReport = inThread): RoutesOf {
  // Each takes a second or more of a thread: pages do not wait for it.
  return (_, ownQueue) => {
    const answers = ownQueue();
    return [get("/report", (request) => report(request, deps, answers, make))];
  };
}

function report(
  request: HttpRequest,
  deps: ReportDeps,
  answers: Answers,
  make: MakeReport,
): HttpAnswer | Promise<HttpAnswer> {
  const config = deps.config();
  if (config.state === undefined) return textAnswer('cannot report: "state.path" must be set\n', 404);
  const { searchParams: search } = request.url;
  const [month, from, to] = ["month", "from", "to"].map((name) => search.get(name) ?? undefined);
  const { names: known, nowMs } = deps.status();
  const all = [...known];
  const wanted = search.has("upstream") ? search.getAll("upstream") : all;
  const asked = askedFor({ month, from, to }, nowMs);
  const format = search.get("format") ?? "html";
  if (typeof asked === "string") return textAnswer(`cannot report: ${asked}\n`, 400);
  if (!isReportFormat(format))
    return textAnswer(`cannot report: format must be one of ${REPORT_FORMATS.join(", ")}\n`, 400);
  const names = new Set(all);
  const unknown = wanted.find((name) => !names.has(name));
  if (unknown !== undefined)
    return textAnswer(`cannot report: no upstream here is called ${JSON.stringify(unknown)}\n`, 404);
  const upstreams = [...new Set(wanted)];
  if (upstreams.length * (asked.lastDay - asked.firstDay + 1) > MOST_REPORTED_DAYS)
    return textAnswer(
      "cannot report: ask for fewer days or upstreams (?upstream=NAME), or run pacewatch report\n",
      400,
    );
  const question = { upstreams, asked, format };
  return answers.serve(request, JSON.stringify(question), async () => ({
    status: 200,
    type: REPORT_TYPES[format],
    pieces: await make(question, deps.config(), nowMs),
  }));
}

/** Of upstreams that are in the running config. */
function inThread(
  { upstreams, asked, format }: ReportRequest,
  config: Config,
  nowMs: number,
): Promise<Pieces> {
  const wanted = new Set(upstreams);
  const reported = config.upstreams.filter(({ name }) => wanted.has(name)).map(reportedOf);
  const paths = config.state === undefined ? [] : [config.state.path];
  const { vantage } = config;
  const question: ReportQuestion = { paths, vantage, upstreams: reported, asked, format, nowMs };
  return askOnce("report", new URL("report-worker.ts", import.meta.url), question);
}
