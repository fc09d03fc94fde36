import type { RequestListener } from "node:http";
import type { Address } from "../../core/config/config.ts";
import type { Opened } from "../../core/config/opened.ts";
import type { WebTls } from "../../core/config/web-config.ts";
import type { Clock } from "../../core/time/clock.ts";
import { Connections } from "./connections.ts";
import { type ServerLimits, serverOptions } from "./limits.ts";
import { createNodeServer, listen, urlOf } from "./node-server.ts";

export type ServeOptions = {
  /** Undefined for plain HTTP. */
  readonly tls: WebTls | undefined;
  readonly limits: ServerLimits;
  /** Read for each connection. */
  readonly maxConnections: () => number;
  readonly clock: Pick<Clock, "sleep">;
  /** For instance when file descriptors run out. */
  readonly onError: (error: Error) => void;
};

export type Serving = {
  readonly url: string;
  /** Applies to new connections. */
  readonly renew: (tls: WebTls) => void;
  /** Requests in flight may end within the grace period. */
  readonly close: () => Promise<void>;
};

/** Answers at one address, within the limits of connections. */
export async function serve(
  address: Address,
  answer: RequestListener,
  { tls, limits, maxConnections, clock, onError }: ServeOptions,
): Promise<Opened<Serving>> {
  const { server, renew } = createNodeServer(tls, serverOptions(limits));
  const connections = new Connections(server, { maxConnections, maxPipelined: limits.maxPipelined }, clock);
  const admit: RequestListener = (incoming, outgoing) => {
    connections.admit(incoming, outgoing, () => answer(incoming, outgoing));
  };
  // A request with an unknown `Expect` too: Node would answer it by itself, beside every limit.
  server.on("request", admit).on("checkExpectation", admit);
  const port = await listen(server, address);
  if (port.kind === "refused") return port;
  // Without a listener the error would end the process.
  server.on("error", onError);
  const url = urlOf(tls === undefined ? "http" : "https", { host: address.host, port: port.what });
  return { kind: "opened", what: { url, renew, close: () => connections.close(limits.closeGraceMs) } };
}
