import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { TLSSocket, TlsOptions } from "node:tls";
import type { ClientAuthType, WebTls } from "../../core/config/web-config.ts";

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

function clientCertificateOptions(
  type: ClientAuthType,
): Pick<TlsOptions, "requestCert" | "rejectUnauthorized"> {
  return { requestCert: type !== "NoClientCert", rejectUnauthorized: type === "RequireAndVerifyClientCert" };
}

/** The policies between none and all, which node does not know by itself. */
function acceptsClient(type: ClientAuthType, socket: TLSSocket): boolean {
  const shown = socket.getPeerX509Certificate() !== undefined;
  switch (type) {
    case "NoClientCert":
    case "RequestClientCert":
      return true;
    case "RequireAnyClientCert":
    case "RequireClientCert":
      return shown;
    case "VerifyClientCertIfGiven":
      return !shown || socket.authorized;
    case "RequireAndVerifyClientCert":
      return socket.authorized;
    default:
      return type satisfies never;
  }
}
