import { type Context, Hono } from "hono";
import type { FleetStatus } from "../../core/fleet/fleet-status.ts";
import { listAnswer, missingUpstreamAnswer, upstreamAnswer } from "../../core/status/json-answers.ts";
import type { StatusSnapshot } from "../../core/status/status.ts";
import { oneAnswerPerTurn } from "../guards/answer-queue.ts";
import { type Guard, type HttpEnv, whenResponseEnds } from "../guards/guard.ts";
import { checkHost, refuseBodies } from "../guards/request-checks.ts";
import type { Markup } from "../page/markup.ts";
import { REFRESH_SECONDS, type View } from "../page/shell.ts";
import { renderStatusPage } from "../page/status-page.ts";
import { renderMissingUpstreamPage, renderUpstreamPage } from "../page/upstream-page.ts";
import { answerCompressed, type Compressible, prefersGzip } from "./compression.ts";
import { responseHeaders } from "./response-headers.ts";

export type ReloadResult =
  | { readonly kind: "reloaded" }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export type MetricsSource = (acceptsGzip: boolean) => Compressible | Promise<Compressible>;

/** Read anew for each request, so any of them may be a getter. */
export type RoutesDeps = {
  status(): StatusSnapshot;
  /** Undefined without a fleet. */
  fleet(): Promise<FleetStatus | undefined>;
  readonly metrics: MetricsSource;
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
  /** In front of every route. */
  readonly guards?: readonly Guard[];
  readonly extraHeaders?: () => Readonly<Record<string, string>>;
  readonly onWarning?: (message: string) => void;
};

const DEFAULT_MAX_SCRAPES = 40;

type Routes = Hono<HttpEnv>;

export function createRoutes(deps: RoutesDeps, options: RoutesOptions = {}): Routes {
  const app: Routes = new Hono();
  app.use(
    responseHeaders(options.extraHeaders ?? (() => ({}))),
    checkHost(() => deps.allowedHosts),
    refuseBodies,
    ...(options.guards ?? []),
    oneAnswerPerTurn(),
  );

  app.get("/metrics", metricsRoute(deps, options.maxScrapes ?? DEFAULT_MAX_SCRAPES));
  app.get("/-/healthy", (c) => c.text("healthy\n"));
  app.get("/-/ready", (c) => (deps.ready() ? c.text("ready\n") : c.text("not ready\n", 503)));
  app.post("/-/reload", (c) => reload(c, deps));
  app.post("/-/resume", (c) => resume(c, deps));
  addPages(app, deps);
  addJsonRoutes(app, deps);

  refuseOtherMethods(app);
  app.notFound((c) => c.text("not found\n", 404));
  app.onError((error, c) => {
    options.onWarning?.(`cannot answer ${c.req.method} ${c.req.path}: ${error.message}`);
    return c.text("cannot answer: an internal error, see the log\n", 500);
  });
  return app;
}

/** A scrape counts until its last byte is sent, so slow readers count too. */
function metricsRoute(deps: RoutesDeps, maxScrapes: number): (c: Context<HttpEnv>) => Promise<Response> {
  let scrapes = 0;
  return async (c) => {
    if (scrapes >= maxScrapes) {
      c.header("Vary", "Accept-Encoding");
      c.header("Retry-After", "1");
      return c.text(`cannot serve metrics: ${maxScrapes} scrapes are already running\n`, 503);
    }
    scrapes += 1;
    whenResponseEnds(c.env, () => (scrapes -= 1));
    const text = await deps.metrics(prefersGzip(c.req.header("accept-encoding")));
    c.header("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    return answerCompressed(c, text);
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

function addPages(app: Routes, deps: RoutesDeps): void {
  app.get("/", async (c) => {
    const fleet = await deps.fleet();
    return answerPage(c, (view) => renderStatusPage(deps.status(), view, fleet));
  });
  app.get("/upstreams/:name", async (c) => {
    const name = c.req.param("name");
    const snapshot = deps.status();
    const upstream = snapshot.upstreams.find((candidate) => candidate.name === name);
    if (upstream !== undefined) return answerPage(c, (view) => renderUpstreamPage(upstream, snapshot, view));
    const fleet = await deps.fleet();
    return answerPage(c, (view) => renderMissingUpstreamPage(name, snapshot, view, fleet), 404);
  });
}

/**
 * The browser reloads the page by itself and keeps the scroll position. `?refresh=off` stops that: a refresh in the
 * markup could not be stopped.
 */
async function answerPage(
  c: Context<HttpEnv>,
  render: (view: View) => Markup,
  status: 200 | 404 = 200,
): Promise<Response> {
  const refreshes = c.req.query("refresh") !== "off";
  const page = String(await render({ refreshes }));
  if (refreshes && status === 200) c.header("Refresh", String(REFRESH_SECONDS));
  c.header("Content-Type", "text/html; charset=UTF-8");
  c.status(status);
  return answerCompressed(c, page);
}

function addJsonRoutes(app: Routes, deps: RoutesDeps): void {
  app.get("/api/v1/upstreams", (c) => c.json(listAnswer(deps.status())));
  app.get("/api/v1/upstreams/:name", async (c) => {
    const name = c.req.param("name");
    const answer = upstreamAnswer(deps.status(), name);
    return answer === undefined
      ? c.json(missingUpstreamAnswer(name, await deps.fleet()), 404)
      : c.json(answer);
  });
  app.get("/api/v1/fleet", async (c) => {
    const fleet = await deps.fleet();
    return fleet === undefined
      ? c.json({ error: "cannot show the fleet: none is configured" }, 404)
      : c.json({ nowMs: deps.status().nowMs, ...fleet });
  });
  app.get("/api/v1/incidents", (c) => {
    const { nowMs, incidents } = deps.status();
    return c.json({ nowMs, incidents });
  });
  app.get("/api/v1/config", (c) => c.json(deps.config()));
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
