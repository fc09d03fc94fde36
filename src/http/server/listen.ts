import type { Server } from "node:http";

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the address is already in use",
  EACCES: "not permitted; ports below 1024 need a privilege",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the name of the host is not known",
};

export type Address = { readonly host: string; readonly port: number };

/** Resolves with the port, as 0 asks for any. An empty host means all addresses. */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ port, ...(host !== "" && { host }) }, resolve);
  try {
    await promise;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
    throw new Error(`cannot listen on ${bracketed(host)}:${port}: ${reason}`, { cause: error });
  } finally {
    server.off("error", reject);
  }
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** An address that a browser on this machine can open: a wildcard is none. */
export function urlOf(scheme: "http" | "https", { host, port }: Address): string {
  const reachable = host === "" || host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${scheme}://${bracketed(reachable)}:${port}`;
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
