import type { Address } from "../../kernel/config/config.ts";
import type { Opened } from "../../platform/opened.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { basicAuth } from "../guards/basic-auth.ts";
import { PasswordChecks } from "../guards/password-checks.ts";
import { createProbeRoutes, createRoutes, type RoutesDeps, type Routes } from "../routes/routes.ts";
import { LiveWebConfig, type WebConfigSource } from "./live-web-config.ts";
import { DEFAULT_SERVER_LIMITS, type ServerLimits, limitReading, serverOptions } from "./limits.ts";
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import type { WebTls } from "../../kernel/config/web-config.ts";
import { answerRequests } from "./answer-requests.ts";
import { Connections } from "./connections.ts";
import { createNodeServer, listen, type NodeServer, urlOf } from "./node-server.ts";

export type StartOptions = RoutesDeps &
  Address & {
    /** TLS and basic auth, in the format of Prometheus's exporters. */
    readonly webConfig: WebConfigSource | undefined;
    /** A second address, for probes alone. */
    readonly probes?: Address | undefined;
    readonly clock: Pick<Clock, "sleep">;
    readonly onWarning: (message: string) => void;
    readonly onWebConfigChange: (changes: readonly string[]) => void;
    readonly limits?: Partial<ServerLimits>;
    /** Read for each connection: fewer than the limit where the process may not open as many. */
    readonly connectionsLeft: () => number;
    /** How often the web config and its certificates are checked for changes. */
    readonly webConfigRecheckMs?: number;
  };

export type RunningServer = AsyncDisposable & {
  readonly url: string;
  /** Where the probes are answered; undefined without a second address. */
  readonly probesUrl: string | undefined;
  readonly close: () => Promise<void>;
};

const DEFAULT_RECHECK_MS = 1000;
/** The second address accepts so few, each for one answer: a flood of it must not take the files that polls need. */
export const PROBE_CONNECTIONS = 8;

/** Refused where it cannot listen, or with all faults of the web config. */
export async function startServer(options: StartOptions): Promise<Opened<RunningServer>> {
  const { clock, onWarning, webConfigRecheckMs: recheckMs = DEFAULT_RECHECK_MS } = options;
  const limits = { ...DEFAULT_SERVER_LIMITS, ...options.limits };
  const common = { limits, clock, onWarning };
  const opened = await LiveWebConfig.open(options.webConfig);
  if (opened.kind === "refused") return opened;
  const web = opened.what;
  await using stack = new AsyncDisposableStack();

  // On an address of their own, as its queue of new connections is not the one that a flood fills. They run on the event
  // loop that polls, so they also show that it runs. Closed last: they say that the program is stopping.
  const probeRoutes = createProbeRoutes(() => options.ready());
  const most = (): number => PROBE_CONNECTIONS;
  const isChecking = (): boolean => false;
  const ofProbes = { ...common, tls: undefined, maxConnections: most, isChecking, setBy: "web.probe_listen" };
  const probes = options.probes && (await serve(options.probes, probeRoutes, ofProbes));
  if (probes?.kind === "refused") return probes;
  stack.defer(() => probes?.what.close());

  const passwordChecks = stack.use(new PasswordChecks(clock, onWarning));
  const routes = createRoutes(options, {
    limits,
    guards: [basicAuth(() => web.config.users, passwordChecks)],
    extraHeaders: () => web.config.headers,
    onWarning,
  });
  const { tls } = web.config;
  const setBy = "--listen or web.listen";
  const served = await serve(options, routes, {
    ...common,
    tls,
    maxConnections: options.connectionsLeft,
    isChecking: (client) => passwordChecks.isChecking(client),
    setBy,
  });
  if (served.kind === "refused") return served;
  const { url, renew, close: closeConnections } = served.what;
  stack.defer(closeConnections);

  const closing = new AbortController();
  stack.defer(() => closing.abort());
  const { onWebConfigChange: onChange } = options;
  // Nobody waits for its end: on a file system that hangs, a look may never end.
  void web.follow({ clock, recheckMs, renew, onWarning, onChange }, closing.signal);
  const owned = stack.move();
  const close = (): Promise<void> => owned.disposeAsync();
  return {
    kind: "opened",
    what: { url, probesUrl: probes?.what.url, close, [Symbol.asyncDispose]: close },
  };
}

type ServeOptions = Pick<StartOptions, "clock" | "onWarning"> & {
  /** Undefined for plain HTTP. */
  readonly tls: WebTls | undefined;
  readonly limits: ServerLimits;
  /** Read for each connection: fewer than the limit. */
  readonly maxConnections: () => number;
  readonly isChecking: (client: Socket) => boolean;
  /** Where its address is set. */
  readonly setBy: string;
};

type Serving = Pick<RunningServer, "url" | "close"> & Pick<NodeServer, "renew">;

/** Answers at one address, within the limits of connections. */
async function serve(
  address: Address,
  routes: Pick<Routes, "answer">,
  { tls, limits, maxConnections, isChecking, setBy, clock, onWarning }: ServeOptions,
): Promise<Opened<Serving>> {
  const { server, renew } = createNodeServer(tls, serverOptions(limits));
  const { maxPipelined } = limits;
  const most = (): number => Math.min(limits.maxConnections, maxConnections());
  const connections = new Connections(server, { maxConnections: most, maxPipelined, isChecking }, clock);
  const answer = answerRequests(routes, limitReading(limits, clock));
  const admit: RequestListener = (incoming, outgoing) => {
    connections.admit(incoming, outgoing, () => answer(incoming, outgoing));
  };
  // A request with an unknown `Expect` too: Node would answer it by itself, beside every limit.
  server.on("request", admit).on("checkExpectation", admit);
  const port = await listen(server, address, setBy);
  if (port.kind === "refused") return port;
  const url = urlOf(tls === undefined ? "http" : "https", { host: address.host, port: port.what });
  // For instance when file descriptors run out. Without a listener the error would end the process.
  server.on("error", ({ message }) => onWarning(`cannot accept a connection at ${url}: ${message}`));
  return { kind: "opened", what: { url, renew, close: () => connections.close(limits.closeGraceMs) } };
}
