import type { Opened } from "../../core/config/opened.ts";
import type { Clock } from "../../core/time/clock.ts";
import { basicAuth } from "../guards/basic-auth.ts";
import { PasswordChecks, type ThreadOf } from "../guards/password-checks.ts";
import { createRoutes, type RoutesDeps } from "../routes/routes.ts";
import { answerRequests } from "./answer-requests.ts";
import { LiveWebConfig, type WebConfigChange, type WebConfigSource } from "./live-web-config.ts";
import { Connections } from "./connections.ts";
import { DEFAULT_SERVER_LIMITS, limitResponse, type ServerLimits, serverOptions } from "./limits.ts";
import { startProbeServer } from "./probe-server.ts";
import { type Address, createNodeServer, listen, urlOf } from "./node-server.ts";

export type StartOptions = RoutesDeps &
  Address & {
    /** TLS and basic auth, in the format of Prometheus's exporters. */
    readonly webConfig: WebConfigSource | undefined;
    /** A second address, for probes alone. */
    readonly probes?: Address | undefined;
    readonly clock: Pick<Clock, "sleep">;
    readonly threadOf: ThreadOf;
    readonly onWarning: (message: string) => void;
    readonly onWebConfigChange?: (change: WebConfigChange) => void;
    readonly limits?: Partial<ServerLimits>;
    /** Read for each connection: fewer than the limit where the process may not open as many. */
    readonly connectionsLeft?: () => number;
    /** How often the web config and its certificates are checked for changes. */
    readonly webConfigRecheckMs?: number;
  };

export type RunningServer = AsyncDisposable & {
  readonly url: string;
  /** Of the second address. */
  readonly probesUrl: string | undefined;
  readonly close: () => Promise<void>;
};

const DEFAULT_RECHECK_MS = 1000;
/** At the second address, where each is over after one answer. The files that polls need are not there to be taken. */
export const PROBE_CONNECTIONS = 8;

/** Refused where it cannot listen, or with all faults of the web config. */
export async function startServer(options: StartOptions): Promise<Opened<RunningServer>> {
  const { clock, onWarning, webConfigRecheckMs: recheckMs = DEFAULT_RECHECK_MS } = options;
  const limits = { ...DEFAULT_SERVER_LIMITS, ...options.limits };
  const openedWeb = await LiveWebConfig.open(options.webConfig);
  if (openedWeb.kind === "refused") return openedWeb;
  const web = openedWeb.what;
  const { tls } = web.config;
  await using stack = new AsyncDisposableStack();
  // Closed last: it says that the program is stopping.
  const probes =
    options.probes &&
    (await startProbeServer(
      options.probes,
      () => options.ready(),
      { ...limits, maxConnections: Math.min(limits.maxConnections, PROBE_CONNECTIONS) },
      clock,
      onWarning,
    ));
  if (probes?.kind === "refused") return probes;
  stack.use(probes?.what);

  const passwordChecks = new PasswordChecks(options.threadOf, clock, onWarning);
  const routes = createRoutes(options, {
    maxScrapes: limits.maxScrapes,
    maxAnswerBytes: limits.maxAnswerBytes,
    guards: [basicAuth(() => web.config.users, passwordChecks)],
    extraHeaders: () => web.config.headers,
    onWarning,
  });
  const answer = answerRequests(routes);
  const { server, renew } = createNodeServer(tls, serverOptions(limits), (incoming, outgoing) => {
    connections.admit(incoming, outgoing, () => {
      limitResponse(incoming, outgoing, limits);
      answer(incoming, outgoing);
    });
  });
  const { connectionsLeft = () => limits.maxConnections } = options;
  const connectionLimits = {
    maxPipelined: limits.maxPipelined,
    get maxConnections() {
      return Math.min(limits.maxConnections, connectionsLeft());
    },
  };
  const connections = new Connections(server, connectionLimits, clock);
  const port = await listen(server, options);
  if (port.kind === "refused") return port;
  // For instance when file descriptors run out. Without a listener the error would end the process.
  server.on("error", (error) => onWarning(`cannot accept a connection: ${error.message}`));

  const closing = new AbortController();
  const { onWebConfigChange: onChange = () => {} } = options;
  // Nobody waits for its end: on a file system that hangs, a look may never end.
  void web.follow({ clock, recheckMs, renew, onWarning, onChange }, closing.signal);
  const owned = stack.move();
  const close = async (): Promise<void> => {
    closing.abort();
    await connections.close(limits.closeGraceMs);
    await passwordChecks[Symbol.asyncDispose]();
    await owned.disposeAsync();
  };
  const url = urlOf(tls === undefined ? "http" : "https", { host: options.host, port: port.what });
  return {
    kind: "opened",
    what: { url, probesUrl: probes?.what.url, close, [Symbol.asyncDispose]: close },
  };
}
