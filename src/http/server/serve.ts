import type { RequestListener } from "node:http";
import type { Address } from "../../kernel/config/config.ts";
import type { Opened } from "../../platform/opened.ts";
import type { WebTls } from "../../kernel/config/web-config.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import type { Routes } from "../routes/routes.ts";
import { answerRequests } from "./answer-requests.ts";
import { Connections } from "./connections.ts";
import { limitReading, type ServerLimits, serverOptions } from "./limits.ts";
import { createNodeServer, listen, urlOf } from "./node-server.ts";

export type ServeOptions = {
  /** Undefined for plain HTTP. */
  readonly tls: WebTls | undefined;
  readonly limits: ServerLimits;
  /** Read for each connection: fewer than the limit. */
  readonly maxConnections: () => number;
  readonly clock: Pick<Clock, "sleep">;
  readonly onWarning: (message: string) => void;
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
  routes: Pick<Routes, "answer">,
  { tls, limits, maxConnections, clock, onWarning }: ServeOptions,
): Promise<Opened<Serving>> {
  const { server, renew } = createNodeServer(tls, serverOptions(limits));
  const { maxPipelined } = limits;
  const most = (): number => Math.min(limits.maxConnections, maxConnections());
  const connections = new Connections(server, { maxConnections: most, maxPipelined }, clock);
  const answer = answerRequests(routes, limitReading(limits, clock));
  const admit: RequestListener = (incoming, outgoing) => {
    connections.admit(incoming, outgoing, () => answer(incoming, outgoing));
  };
  // A request with an unknown `Expect` too: Node would answer it by itself, beside every limit.
  server.on("request", admit).on("checkExpectation", admit);
  const port = await listen(server, address);
  if (port.kind === "refused") return port;
  const url = urlOf(tls === undefined ? "http" : "https", { host: address.host, port: port.what });
  // For instance when file descriptors run out. Without a listener the error would end the process.
  server.on("error", ({ message }) => onWarning(`cannot accept a connection at ${url}: ${message}`));
  return { kind: "opened", what: { url, renew, close: () => connections.close(limits.closeGraceMs) } };
}
