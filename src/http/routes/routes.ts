import { type Context, Hono } from "hono";
import {
  incidentsAnswer,
  listAnswer,
  missingUpstreamAnswer,
  upstreamAnswer,
} from "../../core/status/json-answers.ts";
import type { FleetStatus } from "../../core/fleet/fleet-status.ts";
import type { StatusSnapshot } from "../../core/status/status.ts";
import type { DoorEnv, Guard } from "../guards/guard.ts";
import { checkHost } from "../guards/host-check.ts";
import { metricsRoute, type MetricsSource } from "./metrics-route.ts";
import { answerPage } from "./page-route.ts";
import { refuseBodies } from "../guards/request-body.ts";
import { responseHeaders } from "./response-headers.ts";
import { oneAnswerATurn } from "../guards/turns.ts";
import { renderStatusPage } from "../page/status-page.ts";
import { renderMissingUpstreamPage, renderUpstreamPage } from "../page/upstream-page.ts";

export type ReloadResult =
  | { readonly kind: "reloaded" }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

/** Asked anew at each request, so any of them may be a getter. */
export type RoutesDeps = {
  status(): StatusSnapshot;
  /** The whole fleet; undefined where there is none. */
  fleet(): Promise<FleetStatus | undefined>;
  readonly metrics: MetricsSource;
  reload(): Promise<ReloadResult>;
  /** The running config with its secrets already masked. */
  config(): unknown;
  readonly lifecycleEnabled: boolean;
  ready(): boolean;
};

export type RoutesOptions = {
  /** Names that `Host` may say; any where undefined. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly maxScrapes?: number;
  /** Passed by every request before its route. */
  readonly guards?: readonly Guard[];
  readonly extraHeaders?: () => Readonly<Record<string, string>>;
  readonly onWarning?: (message: string) => void;
};

const DEFAULT_MAX_SCRAPES = 40;

export function createRoutes(deps: RoutesDeps, options: RoutesOptions = {}): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>();
  app.use(responseHeaders(options.extraHeaders ?? (() => ({}))));
  app.use(
    checkHost(() => options.allowedHosts),
    refuseBodies,
    ...(options.guards ?? []),
    oneAnswerATurn(),
  );

  app.get(
    "/metrics",
    metricsRoute((isGzipWelcome) => deps.metrics(isGzipWelcome), options.maxScrapes ?? DEFAULT_MAX_SCRAPES),
  );
  app.get("/-/healthy", (c) => c.text("healthy\n"));
  app.get("/-/ready", (c) => (deps.ready() ? c.text("ready\n") : c.text("not ready\n", 503)));
  app.post("/-/reload", (c) => reload(c, deps));
  app.get("/", async (c) => {
    const fleet = await deps.fleet();
    return answerPage(c, (view) => renderStatusPage(deps.status(), view, fleet));
  });
  app.get("/upstreams/:name", (c) => upstreamPage(c, deps));
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
      ? c.json({ error: "cannot tell of a fleet: none is configured" }, 404)
      : c.json({ nowMs: deps.status().nowMs, ...fleet });
  });
  app.get("/api/v1/incidents", (c) => c.json(incidentsAnswer(deps.status())));
  app.get("/api/v1/config", (c) => c.json(deps.config()));

  refuseOtherMethods(app);
  app.notFound((c) => c.text("not found\n", 404));
  app.onError((error, c) => {
    options.onWarning?.(`cannot answer ${c.req.method} ${c.req.path}: ${error.message}`);
    return c.text("cannot answer: an internal error, see the log\n", 500);
  });
  return app;
}

/** A reload may have taken the upstream away while somebody looked at it. */
async function upstreamPage(c: Context<DoorEnv, "/upstreams/:name">, deps: RoutesDeps): Promise<Response> {
  const name = c.req.param("name");
  const snapshot = deps.status();
  const upstream = snapshot.upstreams.find((candidate) => candidate.name === name);
  const fleet = upstream === undefined ? await deps.fleet() : undefined;
  return upstream === undefined
    ? answerPage(c, (view) => renderMissingUpstreamPage(name, snapshot, view, fleet), 404)
    : answerPage(c, (view) => renderUpstreamPage(upstream, snapshot, view));
}

async function reload(c: Context<DoorEnv>, deps: RoutesDeps): Promise<Response> {
  if (!deps.lifecycleEnabled)
    return c.text('cannot reload: "web.enable_lifecycle" must be true, received false\n', 403);
  // Browsers say Origin on every POST, curl and its kind on none; and no page of ours asks for a reload.
  if (c.req.header("origin") !== undefined)
    return c.text("cannot reload: a web page may not ask for it\n", 403);
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

function refuseOtherMethods(app: Hono<DoorEnv>): void {
  const routes = app.routes.filter(({ method }) => method === "GET" || method === "POST");
  for (const { path, method } of routes) {
    const allow = method === "GET" ? "GET, HEAD" : method;
    app.all(path, (c) => {
      c.header("Allow", allow);
      return c.text(`cannot ${c.req.method} ${path}: allowed is ${allow}\n`, 405);
    });
  }
}
