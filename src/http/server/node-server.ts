import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { TLSSocket, TlsOptions } from "node:tls";
import type { Address } from "../../kernel/config/config.ts";
import type { Opened } from "../../platform/opened.ts";
import type { ClientAuthType, WebTls } from "../../kernel/config/web-config.ts";
import { codeOf, messageOf } from "../../kernel/text/escape.ts";

export type NodeServer = {
  readonly server: Server | TlsServer;
  /** Applies to new connections. */
  readonly renew: (tls: WebTls) => void;
};

const HANDSHAKE_TIMEOUT_MS = 10_000;

export function createNodeServer(tls: WebTls | undefined, options: ServerOptions): NodeServer {
  if (tls === undefined) return { server: createServer(options), renew: () => {} };
  const { clientAuth, context } = tls;
  const certificates = clientCertificateOptions(clientAuth);
  const server = createTlsServer({
    ...options,
    ...context,
    ...certificates,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  });
  // Before Node's own listener, which reads requests from the socket.
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

/** Node itself knows only two policies: no certificate, or a verified one. */
function acceptsClient(type: ClientAuthType, socket: TLSSocket): boolean {
  const hasCertificate = socket.getPeerX509Certificate() !== undefined;
  switch (type) {
    case "NoClientCert":
    case "RequestClientCert":
      return true;
    case "RequireAnyClientCert":
    case "RequireClientCert":
      return hasCertificate;
    case "VerifyClientCertIfGiven":
      return !hasCertificate || socket.authorized;
    case "RequireAndVerifyClientCert":
      return socket.authorized;
    default:
      return type satisfies never;
  }
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the address is already in use",
  EACCES: "permission denied; ports below 1024 need a privilege",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the host name cannot be resolved",
};

/** The actual port: port 0 asks for any free one. `setBy`: what names another one. */
export async function listen(
  server: Server,
  { host, port }: Address,
  setBy: string,
): Promise<Opened<number>> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ port, host }, resolve);
  try {
    await promise;
  } catch (error) {
    const reason = LISTEN_ERRORS[codeOf(error) ?? ""] ?? messageOf(error);
    const fault = `cannot listen on ${bracketed(host)}:${port}: ${reason}. Set another one with ${setBy}`;
    return { kind: "refused", faults: [fault] };
  } finally {
    server.off("error", reject);
  }
  const address = server.address();
  return { kind: "opened", what: typeof address === "object" && address !== null ? address.port : port };
}

/** A URL that a browser on this machine can open, also for a wildcard address. */
export function urlOf(scheme: "http" | "https", { host, port }: Address): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${scheme}://${bracketed(reachable)}:${port}`;
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
