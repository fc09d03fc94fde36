import type { Address } from "../../kernel/config/config.ts";
import type { Opened } from "../../platform/opened.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { basicAuth } from "../guards/basic-auth.ts";
import { PasswordChecks, type ThreadOf } from "../guards/password-checks.ts";
import { createProbeRoutes, createRoutes, type RoutesDeps } from "../routes/routes.ts";
import { LiveWebConfig, type WebConfigSource } from "./live-web-config.ts";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "./limits.ts";
import { serve } from "./serve.ts";

export type StartOptions = RoutesDeps &
  Address & {
    /** TLS and basic auth, in the format of Prometheus's exporters. */
    readonly webConfig: WebConfigSource | undefined;
    /** A second address, for probes alone. */
    readonly probes?: Address | undefined;
    readonly clock: Pick<Clock, "sleep">;
    readonly threadOf: ThreadOf;
    readonly onWarning: (message: string) => void;
    readonly onWebConfigChange?: (changes: readonly string[]) => void;
    readonly limits?: Partial<ServerLimits>;
    /** Read for each connection: fewer than the limit where the process may not open as many. */
    readonly connectionsLeft?: () => number;
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
  const { connectionsLeft: maxConnections = () => Infinity } = options;
  const common = { limits, clock, onWarning };
  const opened = await LiveWebConfig.open(options.webConfig);
  if (opened.kind === "refused") return opened;
  const web = opened.what;
  await using stack = new AsyncDisposableStack();

  // On an address of their own, as its queue of new connections is not the one that a flood fills. They run on the event
  // loop that polls, so they also show that it runs. Closed last: they say that the program is stopping.
  const probeRoutes = createProbeRoutes(() => options.ready());
  const ofProbes = { ...common, tls: undefined, maxConnections: () => PROBE_CONNECTIONS };
  const probes = options.probes && (await serve(options.probes, probeRoutes, ofProbes));
  if (probes?.kind === "refused") return probes;
  stack.defer(() => probes?.what.close());

  const passwordChecks = stack.use(new PasswordChecks(options.threadOf, clock, onWarning));
  const routes = createRoutes(options, {
    limits,
    guards: [basicAuth(() => web.config.users, passwordChecks)],
    extraHeaders: () => web.config.headers,
    onWarning,
  });
  const served = await serve(options, routes, { ...common, tls: web.config.tls, maxConnections });
  if (served.kind === "refused") return served;
  const { url, renew, close: closeConnections } = served.what;
  stack.defer(closeConnections);

  const closing = new AbortController();
  stack.defer(() => closing.abort());
  const { onWebConfigChange: onChange = () => {} } = options;
  // Nobody waits for its end: on a file system that hangs, a look may never end.
  void web.follow({ clock, recheckMs, renew, onWarning, onChange }, closing.signal);
  const owned = stack.move();
  const close = (): Promise<void> => owned.disposeAsync();
  return {
    kind: "opened",
    what: { url, probesUrl: probes?.what.url, close, [Symbol.asyncDispose]: close },
  };
}
