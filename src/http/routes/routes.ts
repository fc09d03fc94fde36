import { type Context, Hono } from "hono";
import type { FleetStatus } from "../../core/fleet/fleet-status.ts";
import { listAnswer, missingUpstreamAnswer, upstreamAnswer } from "../../core/status/json-answers.ts";
import { jsonPieces } from "../../core/status/json-pieces.ts";
import type { StatusSnapshot } from "../../core/status/status.ts";
import { type Guard, type HttpEnv, whenResponseEnds } from "../guards/guard.ts";
import { checkHost, refuseBodies } from "../guards/request-checks.ts";
import type { Markup } from "../page/markup.ts";
import { REFRESH_SECONDS, type View } from "../page/shell.ts";
import { renderStatusPage } from "../page/status-page.ts";
import { renderMissingUpstreamPage, renderUpstreamPage } from "../page/upstream-page.ts";
import { AnswerRoom, Answers, type Content, type Gzip, refusal } from "./answers.ts";
import { responseHeaders } from "./response-headers.ts";
import type { Turns } from "./turns.ts";

export type ReloadResult =
  | { readonly kind: "reloaded" }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export type MetricsSource = () => Content | Promise<Content>;

/** Read anew for each request, so any of them may be a getter. */
export type RoutesDeps = {
  status(turns: Turns): StatusSnapshot | Promise<StatusSnapshot>;
  /** Undefined without a fleet. */
  fleet(): Promise<FleetStatus | undefined>;
  readonly metrics: MetricsSource;
  readonly gzip: () => Gzip;
  reload(): Promise<ReloadResult>;
  /** Ends the pause of a budget. False for an unknown one. */
  resume(budget: string): boolean;
  /** The running config, with its secrets masked. */
  config(): unknown;
  readonly lifecycleEnabled: boolean;
  ready(): boolean;
  /** The names that `Host` may have; undefined for any. */
  readonly allowedHosts?: readonly string[] | undefined;
};

export type RoutesOptions = {
  readonly maxScrapes?: number;
  readonly maxAnswerBytes?: number;
  /** In front of every route. */
  readonly guards?: readonly Guard[];
  readonly extraHeaders?: () => Readonly<Record<string, string>>;
  readonly onWarning?: (message: string) => void;
};

const DEFAULT_MAX_SCRAPES = 40;
const DEFAULT_MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_WAITING = 100;

type Routes = Hono<HttpEnv>;

export function createRoutes(deps: RoutesDeps, options: RoutesOptions = {}): Routes {
  const app: Routes = new Hono();
  app.use(
    responseHeaders(options.extraHeaders ?? (() => ({}))),
    checkHost(() => deps.allowedHosts),
    refuseBodies,
    ...(options.guards ?? []),
  );

  const room = new AnswerRoom(options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES);
  const common = { room, gzip: deps.gzip, maxWaiting: MAX_WAITING };
  // The text of the metrics is written in short turns, or in a thread: nobody waits for it, and it waits for no page.
  const scrapes = new Answers({ ...common, rests: false });
  const answers = new Answers({ ...common, rests: true });
  app.get("/metrics", metricsRoute(deps, scrapes, options.maxScrapes ?? DEFAULT_MAX_SCRAPES));
  app.get("/-/healthy", (c) => c.text("healthy\n"));
  app.get("/-/ready", (c) => (deps.ready() ? c.text("ready\n") : c.text("not ready\n", 503)));
  app.post("/-/reload", (c) => reload(c, deps));
  app.post("/-/resume", (c) => resume(c, deps));
  addPages(app, deps, answers);
  addJsonRoutes(app, deps, answers);

  refuseOtherMethods(app);
  app.notFound((c) => c.text("not found\n", 404));
  app.onError((error, c) => {
    options.onWarning?.(`cannot answer ${c.req.method} ${c.req.path}: ${error.message}`);
    return c.text("cannot answer: an internal error, see the log\n", 500);
  });
  return app;
}

/** A scrape counts until its last byte is sent, so slow readers count too. */
function metricsRoute(
  deps: RoutesDeps,
  answers: Answers,
  maxScrapes: number,
): (c: Context<HttpEnv>) => Promise<Response> {
  let scrapes = 0;
  return async (c) => {
    if (scrapes >= maxScrapes) return refusal(c, `${maxScrapes} scrapes are already running`);
    scrapes += 1;
    whenResponseEnds(c.env, () => (scrapes -= 1));
    return answers.serve(c, "metrics", async () => {
      return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", content: await deps.metrics() };
    });
  };
}

/** Why a command is forbidden. */
function whyForbidden(c: Context<HttpEnv>, deps: RoutesDeps): string | undefined {
  if (!deps.lifecycleEnabled) return '"web.enable_lifecycle" must be true, received false';
  // Browsers send Origin with every POST, curl and the like do not, and our own pages command nothing.
  return c.req.header("origin") === undefined ? undefined : "requests from web pages are refused";
}

function resume(c: Context<HttpEnv>, deps: RoutesDeps): Response {
  const forbidden = whyForbidden(c, deps);
  if (forbidden !== undefined) return c.text(`cannot resume: ${forbidden}\n`, 403);
  const budget = c.req.query("budget");
  if (budget === undefined) return c.text('cannot resume: "budget" must be in the query\n', 400);
  return deps.resume(budget)
    ? c.text("resumed\n")
    : c.text('cannot resume: "budget" must be the name of a budget\n', 404);
}

async function reload(c: Context<HttpEnv>, deps: RoutesDeps): Promise<Response> {
  const forbidden = whyForbidden(c, deps);
  if (forbidden !== undefined) return c.text(`cannot reload: ${forbidden}\n`, 403);
  const result = await deps.reload();
  switch (result.kind) {
    case "reloaded":
      return c.text("reloaded\n");
    case "refused":
      return c.text(result.faults.map((fault) => `${fault}\n`).join(""), 400);
    default:
      return result satisfies never;
  }
}

function addPages(app: Routes, deps: RoutesDeps, answers: Answers): void {
  app.get("/", (c) =>
    answerPage(c, answers, async (view, turns) => {
      const fleet = await deps.fleet();
      return { page: await turns.run(renderStatusPage(await deps.status(turns), view, fleet)), status: 200 };
    }),
  );
  app.get("/upstreams/:name", (c) => {
    const name = c.req.param("name");
    return answerPage(c, answers, async (view, turns) => {
      const snapshot = await deps.status(turns);
      const upstream = snapshot.upstreams.find((candidate) => candidate.name === name);
      if (upstream !== undefined) return { page: renderUpstreamPage(upstream, snapshot, view), status: 200 };
      const fleet = await deps.fleet();
      return { page: renderMissingUpstreamPage(name, snapshot, view, fleet), status: 404 };
    });
  });
}

/**
 * The browser reloads the page by itself and keeps the scroll position. `?refresh=off` stops that: a refresh in the
 * markup could not be stopped.
 */
async function answerPage(
  c: Context<HttpEnv>,
  answers: Answers,
  render: (view: View, turns: Turns) => Promise<{ readonly page: Markup; readonly status: 200 | 404 }>,
): Promise<Response> {
  const refreshes = c.req.query("refresh") !== "off";
  const response = await answers.serve(c, `${c.req.path} ${refreshes}`, async (turns) => {
    const { page, status } = await render({ refreshes }, turns);
    return { status, type: "text/html; charset=UTF-8", content: String(await page) };
  });
  if (refreshes && response.status === 200) response.headers.set("Refresh", String(REFRESH_SECONDS));
  return response;
}

function addJsonRoutes(app: Routes, deps: RoutesDeps, answers: Answers): void {
  /** 404 with `missing` where there is no value. */
  const serve = (
    c: Context<HttpEnv>,
    value: (turns: Turns) => unknown,
    missing?: () => Promise<unknown>,
  ): Promise<Response> =>
    answers.serve(c, c.req.path, async (turns) => {
      const found = await value(turns);
      const status = found === undefined ? 404 : 200;
      const pieces = jsonPieces(found ?? (await missing?.()));
      return { status, type: "application/json", content: { pieces } };
    });
  app.get("/api/v1/upstreams", (c) => serve(c, async (turns) => listAnswer(await deps.status(turns))));
  app.get("/api/v1/upstreams/:name", (c) => {
    const name = c.req.param("name");
    return serve(
      c,
      async (turns) => upstreamAnswer(await deps.status(turns), name),
      async () => missingUpstreamAnswer(name, await deps.fleet()),
    );
  });
  app.get("/api/v1/fleet", (c) =>
    serve(
      c,
      async (turns) => {
        const fleet = await deps.fleet();
        return fleet && { nowMs: (await deps.status(turns)).nowMs, ...fleet };
      },
      async () => ({ error: "cannot show the fleet: none is configured" }),
    ),
  );
  app.get("/api/v1/incidents", (c) =>
    serve(c, async (turns) => {
      const { nowMs, incidents } = await deps.status(turns);
      return { nowMs, incidents };
    }),
  );
  app.get("/api/v1/config", (c) => serve(c, () => deps.config()));
}

function refuseOtherMethods(app: Routes): void {
  const routes = app.routes.filter(({ method }) => method === "GET" || method === "POST");
  for (const { path, method } of routes) {
    const allow = method === "GET" ? "GET, HEAD" : method;
    app.all(path, (c) => {
      c.header("Allow", allow);
      return c.text(`cannot ${c.req.method} ${path}: allowed is ${allow}\n`, 405);
    });
  }
}
