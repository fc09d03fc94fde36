import {
  incidentsAnswer,
  listAnswer,
  missingUpstreamAnswer,
  upstreamAnswer,
} from "../../features/status/json-answers.ts";
import { jsonPieces, type Pieces } from "../../features/status/pieces.ts";
import { CALENDAR, type Columns, type Range } from "../../features/history/timeline.ts";
import type { Format } from "../../kernel/metrics/sample.ts";
import { messageOf } from "../../kernel/text/escape.ts";
import {
  type Guard,
  type HttpAnswer,
  type HttpRequest,
  textAnswer,
  whenResponseEnds,
} from "../guards/guard.ts";
import { percentDecoded } from "../../kernel/text/percent.ts";
import { checkHost, refuseBodies, refuseExpectations } from "../guards/request-checks.ts";
import { badgeOf, BADGES } from "../../features/badges/badge.ts";
import { readRunbook, renderRunbookPage } from "../../features/page/runbook-page.ts";
import { REFRESH_SECONDS, type View, viewOf } from "../../features/page/shell.ts";
import { renderStatusPage } from "../../features/page/status-page.ts";
import { renderMissingUpstreamPage, renderUpstreamPage } from "../../features/page/upstream-page.ts";
import { formatFor } from "./accept.ts";
import { Readers } from "./readers.ts";
import { type ReportDeps, reportRoute } from "../../features/report/route.ts";
import { Answers, type Pieces as AnswerPieces, refusal } from "./answers.ts";
import { withResponseHeaders } from "./response-headers.ts";

export type ReloadResult =
  | { readonly kind: "reloaded" }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export type MetricsSource = (format: Format) => AnswerPieces | Promise<AnswerPieces>;

/** Asked anew for each request: a reload may have changed them. */
export type RoutesDeps = ReportDeps & {
  /** Of the single polls that the state file has; undefined where it has none, or of a range that needs more. */
  columns(upstream: string, range: Range): Promise<Columns | undefined>;
  readonly metrics: MetricsSource;
  reload(): Promise<ReloadResult>;
  /** Ends the pause of a budget. False for an unknown one. */
  resume(budget: string): boolean;
  /** The running config as it is written, as JSON without a secret. */
  config(): string;
  lifecycleEnabled(): boolean;
  badgesEnabled(): boolean;
  ready(): boolean;
  /** The names that `Host` may have; undefined for any. */
  allowedHosts?(): readonly string[] | undefined;
};

export type RouteLimits = {
  readonly maxScrapes: number;
  /** The memory of all answers that are made or read, with what the kernel may hold of them. */
  readonly maxAnswerBytes: number;
};

export const DEFAULT_ROUTE_LIMITS: RouteLimits = { maxScrapes: 40, maxAnswerBytes: 64 * 1024 * 1024 };

export type RoutesOptions = {
  readonly limits?: RouteLimits;
  /** In front of every route. */
  readonly guards?: readonly Guard[];
  readonly extraHeaders?: () => Readonly<Record<string, string>>;
  readonly onWarning?: (message: string) => void;
};

const MAX_WAITING = 100;

type Route = {
  readonly method: "GET" | "POST";
  /** `:name` is one part of it, anything but nothing. */
  readonly path: string;
  /** `name` is what stands for `:name`. */
  readonly answer: (request: HttpRequest, name: string) => HttpAnswer | Promise<HttpAnswer>;
};

export type Routes = {
  readonly routes: readonly Pick<Route, "method" | "path">[];
  answer(request: HttpRequest): Promise<HttpAnswer>;
};

export function createRoutes(deps: RoutesDeps, options: RoutesOptions = {}): Routes {
  const { limits = DEFAULT_ROUTE_LIMITS } = options;
  const guards = [
    checkHost(() => deps.allowedHosts?.()),
    refuseBodies,
    refuseExpectations,
    ...(options.guards ?? []),
  ];
  const room = { limitBytes: limits.maxAnswerBytes, takenBytes: 0 };
  const readers = new Readers();
  const common = { room, readers, maxWaiting: MAX_WAITING };
  // Metrics are written in short turns: nobody waits for them, and they wait for no page.
  const scrapes = new Answers({ ...common, rests: false });
  const answers = new Answers({ ...common, rests: true });
  const routes: readonly Route[] = [
    get("/metrics", metricsRoute(deps, scrapes, readers, limits.maxScrapes)),
    ...probeRoutes(() => deps.ready()),
    post("/-/reload", (request) => reload(request, deps)),
    post("/-/resume", (request) => resume(request, deps)),
    ...pages(deps, answers),
    // Each takes a second or more of a thread: pages do not wait for it.
    get("/report", reportRoute(deps, new Answers({ ...common, rests: true }))),
    ...jsonRoutes(deps, answers),
  ];
  const answer = async (request: HttpRequest): Promise<HttpAnswer> => {
    for (const guard of guards) {
      const refused = await guard(request);
      if (refused !== undefined) return refused;
    }
    return routed(request, routes);
  };
  return {
    routes,
    answer: async (request) => {
      const extra = options.extraHeaders?.();
      try {
        return withResponseHeaders(await answer(request), extra);
      } catch (error) {
        options.onWarning?.(`cannot answer ${request.method} ${request.path}: ${messageOf(error)}`);
        return withResponseHeaders(INTERNAL_ERROR, extra);
      }
    },
  };
}

/** The two probes alone, for an address of their own: each of its connections is over after one answer. */
export function createProbeRoutes(ready: () => boolean): Pick<Routes, "answer"> {
  const routes = probeRoutes(ready);
  return {
    answer: async (request) => {
      const answer = (await refuseExpectations(request)) ?? (await routed(request, routes));
      return withResponseHeaders({ ...answer, headers: { ...answer.headers, Connection: "close" } });
    },
  };
}

function probeRoutes(ready: () => boolean): readonly Route[] {
  return [
    get("/-/healthy", () => textAnswer("healthy\n")),
    get("/-/ready", () => (ready() ? textAnswer("ready\n") : textAnswer("not ready\n", 503))),
  ];
}

function get(path: string, answer: Route["answer"]): Route {
  return { method: "GET", path, answer };
}

function post(path: string, answer: Route["answer"]): Route {
  return { method: "POST", path, answer };
}

const INTERNAL_ERROR = textAnswer("cannot answer: an internal error, see the log\n", 500);

async function routed(request: HttpRequest, routes: readonly Route[]): Promise<HttpAnswer> {
  for (const { method, path, answer } of routes) {
    const name = nameIn(request.path, path);
    if (name === undefined) continue;
    if (request.method === method || (request.method === "HEAD" && method === "GET"))
      return await answer(request, name);
    const allow = method === "GET" ? "GET, HEAD" : method;
    return textAnswer(`cannot ${request.method} ${path}: allowed is ${allow}\n`, 405, { Allow: allow });
  }
  return textAnswer("not found\n", 404);
}

/** What stands for `:name`, nothing where the route has none; undefined where it is another route's path. */
function nameIn(path: string, route: string): string | undefined {
  const [before = "", after] = route.split(":name");
  if (after === undefined) return path === route ? "" : undefined;
  const isOne = path.startsWith(before) && path.endsWith(after);
  const name = isOne ? path.slice(before.length, path.length - after.length) : "";
  return name === "" || name.includes("/") ? undefined : percentDecoded(name);
}

/** A scrape counts until its last byte is sent, so slow readers count too. */
function metricsRoute(
  deps: RoutesDeps,
  answers: Answers,
  readers: Readers,
  maxScrapes: number,
): Route["answer"] {
  let scrapes = 0;
  return async (request) => {
    if (scrapes >= maxScrapes && !readers.makeRoomFor(request))
      return refusal(`${maxScrapes} scrapes are already running`);
    scrapes += 1;
    whenResponseEnds(request, () => (scrapes -= 1));
    const { format, type } = formatFor(request.header("accept"));
    const answer = await answers.serve(request, type, async () => {
      return { status: 200, type, pieces: await deps.metrics(format.format) };
    });
    return { ...answer, headers: { ...answer.headers, Vary: "Accept, Accept-Encoding" } };
  };
}

/** Why a command is forbidden. */
function whyForbidden({ header }: HttpRequest, deps: RoutesDeps): string | undefined {
  if (!deps.lifecycleEnabled()) return '"web.enable_lifecycle" must be true, received false';
  // Browsers send one of these with every POST, curl and the like none, and our own pages command nothing.
  const isFromPage = header("origin") !== undefined || (header("sec-fetch-site") ?? "none") !== "none";
  return isFromPage ? "requests from web pages are refused" : undefined;
}

function resume(request: HttpRequest, deps: RoutesDeps): HttpAnswer {
  const forbidden = whyForbidden(request, deps);
  if (forbidden !== undefined) return textAnswer(`cannot resume: ${forbidden}\n`, 403);
  const budget = request.url.searchParams.get("budget");
  if (budget === null) return textAnswer('cannot resume: "budget" must be in the query\n', 400);
  return deps.resume(budget)
    ? textAnswer("resumed\n")
    : textAnswer('cannot resume: "budget" must be the name of a budget\n', 404);
}

async function reload(request: HttpRequest, deps: RoutesDeps): Promise<HttpAnswer> {
  const forbidden = whyForbidden(request, deps);
  if (forbidden !== undefined) return textAnswer(`cannot reload: ${forbidden}\n`, 403);
  const result = await deps.reload();
  if (result.kind === "reloaded") return textAnswer("reloaded\n");
  return textAnswer(result.faults.map((fault) => `${fault}\n`).join(""), 400);
}

function pages(deps: RoutesDeps, answers: Answers): readonly Route[] {
  const runbook: Route["answer"] = (request, name) =>
    answers.serve(request, request.path, async () => {
      const text = await readRunbook(name);
      const pieces = renderRunbookPage(text, deps.status());
      return { status: text === undefined ? 404 : 200, type: HTML, pieces };
    });
  return [
    page("/", answers, (view) => ({ status: 200, pieces: renderStatusPage(deps.status(), view) })),
    page("/upstreams/:name", answers, async (view, name) => {
      const inFile = await deps.columns(name, view.range);
      const daysInFile = await deps.columns(name, CALENDAR);
      const status = deps.status();
      const facts = status.facts(name);
      if (facts !== undefined) {
        const seen = inFile ?? status.columns(name, view.range);
        const days = daysInFile ?? status.columns(name, CALENDAR);
        return { status: 200, pieces: renderUpstreamPage(facts, { seen, days }, status, view) };
      }
      return { status: 404, pieces: renderMissingUpstreamPage(name, status, view) };
    }),
    get("/badge/:name.svg", (request, name) => badge(request, name, deps, answers)),
    get("/runbooks/", runbook),
    get("/runbooks/:name", runbook),
  ];
}

const HTML = "text/html; charset=UTF-8";

/** Other pages show it. They may keep it for a minute. */
async function badge(
  request: HttpRequest,
  name: string,
  deps: RoutesDeps,
  answers: Answers,
): Promise<HttpAnswer> {
  if (!deps.badgesEnabled()) return textAnswer('cannot show a badge: "web.badges" must be true\n', 404);
  const shown = BADGES.find((each) => each === (request.url.searchParams.get("show") ?? "state"));
  if (shown === undefined)
    return textAnswer(`cannot show a badge: show must be one of ${BADGES.join(", ")}\n`, 400);
  if (deps.status().facts(name) === undefined)
    return textAnswer("cannot show a badge: no upstream has this name\n", 404);
  const answer = await answers.serve(request, `${request.path} ${shown}`, () => {
    const status = deps.status();
    const facts = status.facts(name);
    return {
      status: 200,
      type: "image/svg+xml",
      pieces: facts === undefined ? [] : [badgeOf(shown, facts, status)],
    };
  });
  return answer.status === 200
    ? { ...answer, headers: { ...answer.headers, "Cache-Control": "private, max-age=60" } }
    : answer;
}

type Page = { readonly status: 200 | 404; readonly pieces: Pieces };

/**
 * The browser reloads the page by itself and keeps the scroll position. `?refresh=off` stops that: a refresh in the
 * markup could not be stopped.
 */
function page(
  path: string,
  answers: Answers,
  render: (view: View, name: string) => Page | Promise<Page>,
): Route {
  return get(path, async (request, name) => {
    const view = viewOf(request.url.searchParams);
    const { refreshes, range } = view;
    const answer = await answers.serve(request, `${request.path} ${range.name} ${refreshes}`, async () => {
      const { status, pieces } = await render(view, name);
      return { status, type: HTML, pieces };
    });
    if (!refreshes || answer.status !== 200) return answer;
    return { ...answer, headers: { ...answer.headers, Refresh: String(REFRESH_SECONDS) } };
  });
}

function jsonRoutes(deps: RoutesDeps, answers: Answers): readonly Route[] {
  const json = (path: string, found: (name: string) => Json): Route =>
    get(path, (request, name) =>
      answers.serve(request, request.path, () => {
        const { status = 200, pieces } = found(name);
        return { status, type: "application/json", pieces };
      }),
    );
  return [
    json("/api/v1/upstreams", () => ({ pieces: listAnswer(deps.status()) })),
    json("/api/v1/upstreams/:name", (name) => {
      const status = deps.status();
      const found = upstreamAnswer(status, name);
      return found === undefined
        ? missing(missingUpstreamAnswer(name, status))
        : { pieces: jsonPieces(found) };
    }),
    json("/api/v1/incidents", () => ({ pieces: incidentsAnswer(deps.status()) })),
    json("/api/v1/config", () => ({ pieces: [deps.config()] })),
  ];
}

type Json = { readonly status?: 404; readonly pieces: AnswerPieces };

function missing(why: object): Json {
  return { status: 404, pieces: jsonPieces(why) };
}
