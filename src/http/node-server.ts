import { createServer } from "node:http";
import type { RequestListener, Server, ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Server as TlsServer } from "node:https";
import { acceptsClient, clientCertificateOptions } from "./client-certificates.ts";
import type { WebTls } from "./web-config.ts";

export type NodeServer = {
  readonly server: Server | TlsServer;
  /** For connections from now on. */
  readonly renew: (tls: WebTls) => void;
};

const HANDSHAKE_TIMEOUT_MS = 10_000;

export function createNodeServer(
  tls: WebTls | undefined,
  options: ServerOptions,
  listener: RequestListener,
): NodeServer {
  if (tls === undefined) return { server: createServer(options, listener), renew: () => {} };
  const { clientAuth, context } = tls;
  const server = createTlsServer(
    {
      ...options,
      ...context,
      ...clientCertificateOptions(clientAuth),
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    },
    listener,
  );
  // Before the listener that reads requests from it.
  server.prependListener("secureConnection", (socket) => {
    if (!acceptsClient(clientAuth, socket)) socket.destroy();
  });
  return { server, renew: (next) => server.setSecureContext(next.context) };
}
