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
import { formatFor, type MediaType } from "./accept.ts";
import { Readers } from "./readers.ts";
import { Answers, type Pieces, refusal } from "./answers.ts";
import { withResponseHeaders } from "./response-headers.ts";

export type ReloadResult =
  | { readonly kind: "reloaded" }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

type Scraped = MediaType & { answer(): Pieces | Promise<Pieces> };

/** Asked anew for each request: a reload may have changed them. */
export type RoutesDeps = {
  /** A client may ask for these. The first is for those who do not care. */
  readonly metrics: readonly [Scraped, ...Scraped[]];
  reload(): Promise<ReloadResult>;
  /** Ends the pause of a budget. False for an unknown one. */
  resume(budget: string): boolean;
  lifecycleEnabled(): boolean;
  ready(): boolean;
  /** The names that `Host` may have; undefined for any. */
  allowedHosts?(): readonly string[] | undefined;
  readonly features: readonly RoutesOf[];
  /** The hash of the style that pages may have. */
  readonly styleHash?: string;
};

/** A feature serves these. `answers` makes one at a time; what takes long waits in a queue of its own. */
export type RoutesOf = (answers: Answers, ownQueue: () => Answers) => readonly Route[];

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

export type Route = {
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
  const ownQueue = (): Answers => new Answers({ ...common, rests: true });
  const answers = ownQueue();
  const routes: readonly Route[] = [
    get("/metrics", metricsRoute(deps, scrapes, readers, limits.maxScrapes)),
    ...probeRoutes(() => deps.ready()),
    post("/-/reload", (request) => reload(request, deps)),
    post("/-/resume", (request) => resume(request, deps)),
    ...deps.features.flatMap((feature) => feature(answers, ownQueue)),
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
        return withResponseHeaders(await answer(request), extra, deps.styleHash);
      } catch (error) {
        options.onWarning?.(`cannot answer ${request.method} ${request.path}: ${messageOf(error)}`);
        return withResponseHeaders(INTERNAL_ERROR, extra, deps.styleHash);
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

export function get(path: string, answer: Route["answer"]): Route {
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

/** The part of the path that stands for `:name`, nothing where the route has none; undefined where it is another route's path. */
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
    const { format, type } = formatFor(request.header("accept"), deps.metrics);
    const answer = await answers.serve(request, type, async () => {
      return { status: 200, type, pieces: await format.answer() };
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
