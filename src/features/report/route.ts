import { questionFor, type ReportFormat, type ReportQuestion } from "./question.ts";
import { type HttpAnswer, type HttpRequest, textAnswer } from "../../http/guards/guard.ts";
import type { Config } from "../../kernel/config/config.ts";
import { askOnce } from "../../platform/thread.ts";
import type { Answers, Pieces } from "../../http/routes/answers.ts";
import { get, type RoutesOf } from "../../http/routes/routes.ts";

/** Asked anew for each request: a reload may have changed them. */
export type ReportDeps = {
  status(): { readonly nowMs: number };
  config(): Config;
};

type MakeReport = (question: ReportQuestion) => Promise<Pieces>;

/** In the memory of the daemon: a month of a hundred upstreams. The command has no such bound. */
const MOST_REPORTED_DAYS = 3_200;

const TYPES: Readonly<Record<ReportFormat, string>> = {
  html: "text/html; charset=UTF-8",
  json: "application/json",
  csv: "text/csv; charset=UTF-8",
};

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
  const [month, from, to, format = "html"] = ["month", "from", "to", "format"].map(
    (name) => search.get(name) ?? undefined,
  );
  const written = { upstream: search.getAll("upstream"), month, from, to, format };
  const question = questionFor(written, config, [config.state.path], deps.status().nowMs);
  if ("why" in question)
    return textAnswer(`cannot report: ${question.why}\n`, question.isUnknown ? 404 : 400);
  const { upstreams, asked } = question;
  if (upstreams.length * (asked.lastDay - asked.firstDay + 1) > MOST_REPORTED_DAYS)
    return textAnswer(
      "cannot report: ask for fewer days or upstreams (?upstream=NAME), or run pacewatch report\n",
      400,
    );
  const key = JSON.stringify([upstreams.map(({ name }) => name), asked, question.format]);
  return answers.serve(request, key, async () => ({
    status: 200,
    type: TYPES[question.format],
    pieces: await make(question),
  }));
}

function inThread(question: ReportQuestion): Promise<Pieces> {
  return askOnce("report", new URL("report-worker.ts", import.meta.url), question);
}
