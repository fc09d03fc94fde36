import type { RequestListener } from "node:http";
import { getRequestListener, RequestError } from "@hono/node-server";
import { basicAuth, type PasswordChecker } from "../guards/basic-auth.ts";
import { Connections } from "./connections.ts";
import { type Address, listen, urlOf } from "./listen.ts";
import { LiveWebConfig, type WebConfigSource } from "./live-web-config.ts";
import { createNodeServer } from "./node-server.ts";
import { PasswordChecks, type StartWorker } from "../guards/password-checks.ts";
import { RESPONSE_HEADERS } from "../routes/response-headers.ts";
import { createRoutes, type RoutesDeps } from "../routes/routes.ts";
import { DEFAULT_SERVER_LIMITS, limitResponse, type ServerLimits, serverOptions } from "./limits.ts";

export type StartOptions = RoutesDeps &
  Address & {
    /** TLS and basic auth, in the format of Prometheus's exporters. */
    readonly webConfig: WebConfigSource | undefined;
    readonly startWorker: StartWorker;
    readonly onWarning: (message: string) => void;
    /** Names that `Host` may say; any where undefined. */
    readonly allowedHosts?: readonly string[] | undefined;
    readonly limits?: Partial<ServerLimits>;
    /** How often the web config and its certificates are looked at for changes. */
    readonly webConfigRecheckMs?: number;
  };

export type RunningServer = AsyncDisposable & {
  readonly url: string;
  readonly close: () => Promise<void>;
};

const DEFAULT_RECHECK_MS = 1000;

/** Rejects when it cannot listen: with one sentence, or with the faults of the web config, one a line. */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const { onWarning, webConfigRecheckMs: recheckMs = DEFAULT_RECHECK_MS } = options;
  const limits = { ...DEFAULT_SERVER_LIMITS, ...options.limits };
  const web = await LiveWebConfig.open(options.webConfig);
  const { tls } = web.config;

  const checks = new PasswordChecks(options.startWorker, onWarning);
  const answer = answerer(options, limits, web, checks);
  const { server, renew } = createNodeServer(tls, serverOptions(limits), (incoming, outgoing) => {
    if (!connections.admit(incoming, outgoing)) return;
    limitResponse(incoming, outgoing, limits);
    answer(incoming, outgoing);
  });
  const connections = new Connections(server, limits);
  const port = await listen(server, options);
  // Running out of file descriptors comes here: unheard, it would end the process.
  server.on("error", (error) => onWarning(`cannot accept a connection: ${error.message}`));

  const closing = new AbortController();
  const following = web.follow({ recheckMs, renew, onWarning }, closing.signal);
  const close = async (): Promise<void> => {
    closing.abort();
    await connections.close(limits.closeGraceMs);
    await checks[Symbol.asyncDispose]();
    await following;
  };
  const url = urlOf(tls === undefined ? "http" : "https", { host: options.host, port });
  return { url, close, [Symbol.asyncDispose]: close };
}

function answerer(
  options: StartOptions,
  limits: ServerLimits,
  web: LiveWebConfig,
  checker: PasswordChecker,
): RequestListener {
  const routes = createRoutes(options, {
    get allowedHosts() {
      return options.allowedHosts;
    },
    maxScrapes: limits.maxScrapes,
    guards: [basicAuth(() => web.config.users, checker)],
    extraHeaders: () => web.config.headers,
    onWarning: options.onWarning,
  });
  const listener = getRequestListener(routes.fetch, {
    // HTTP/1.0 needs no Host, and the checks of some load balancers say none.
    hostname: "localhost",
    overrideGlobalObjects: false,
    errorHandler: (error) => answerBroken(error, options.onWarning),
  });
  return (incoming, outgoing) => {
    void listener(incoming, outgoing);
  };
}

/** What does not even make a request: a target or a Host that is no part of a URL. */
function answerBroken(error: unknown, onWarning: (message: string) => void): Response {
  const headers = { ...RESPONSE_HEADERS, "Content-Type": "text/plain; charset=utf-8" };
  if (error instanceof RequestError) return new Response("bad request\n", { status: 400, headers });
  onWarning(`cannot answer: ${error instanceof Error ? error.message : String(error)}`);
  return new Response("cannot answer: an internal error, see the log\n", { status: 500, headers });
}
