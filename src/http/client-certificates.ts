import type { TLSSocket, TlsOptions } from "node:tls";
import type { ClientAuthType } from "./web-config-schema.ts";

export function clientCertificateOptions(
  type: ClientAuthType,
): Pick<TlsOptions, "requestCert" | "rejectUnauthorized"> {
  return { requestCert: type !== "NoClientCert", rejectUnauthorized: type === "RequireAndVerifyClientCert" };
}

/** The policies between none and all, which node does not know by itself. */
export function acceptsClient(type: ClientAuthType, socket: TLSSocket): boolean {
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
