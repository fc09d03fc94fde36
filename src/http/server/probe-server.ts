import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { Opened } from "../../core/config/opened.ts";
import type { Clock } from "../../core/time/clock.ts";
import { isUnknownExpectation } from "../guards/request-checks.ts";
import { RESPONSE_HEADERS } from "../routes/response-headers.ts";
import { Connections } from "./connections.ts";
import { limitResponse, type ServerLimits, serverOptions } from "./limits.ts";
import { type Address, answeringAll, listen, urlOf } from "./node-server.ts";

export type ProbeServer = AsyncDisposable & { readonly url: string };

const HEALTHY = { status: 200, text: "healthy\n" };
const READY = { status: 200, text: "ready\n" };
const NOT_READY = { status: 503, text: "not ready\n" };
const NOT_FOUND = { status: 404, text: "not found\n" };
const NOT_EXPECTED = { status: 417, text: 'cannot do what "Expect" asks for\n' };
const NOT_ALLOWED = { status: 405, text: "allowed is GET, HEAD\n" };

/**
 * The two probes on an address of their own: its queue of new connections is not the one that a flood fills. It runs on
 * the event loop that polls, so it also shows that the loop runs.
 */
export async function startProbeServer(
  address: Address,
  ready: () => boolean,
  limits: ServerLimits,
  clock: Pick<Clock, "sleep">,
  onWarning: (message: string) => void,
): Promise<Opened<ProbeServer>> {
  const answer = ({ url, method, headers: { expect } }: IncomingMessage, outgoing: ServerResponse): void => {
    const { status, text } = isUnknownExpectation(expect) ? NOT_EXPECTED : verdictOn(method, url, ready);
    const headers = { ...RESPONSE_HEADERS, "Content-Type": "text/plain; charset=utf-8", Connection: "close" };
    outgoing.writeHead(status, headers).end(method === "HEAD" ? undefined : text);
  };
  const admit: RequestListener = (incoming, outgoing) => {
    connections.admit(incoming, outgoing, () => {
      limitResponse(incoming, outgoing, limits);
      answer(incoming, outgoing);
    });
  };
  const server = answeringAll(createServer(serverOptions(limits), admit), admit);
  const connections = new Connections(server, limits, clock);
  const port = await listen(server, address);
  if (port.kind === "refused") return port;
  server.on("error", (error) => onWarning(`cannot accept a connection of a probe: ${error.message}`));
  const url = urlOf("http", { host: address.host, port: port.what });
  return {
    kind: "opened",
    what: { url, [Symbol.asyncDispose]: () => connections.close(limits.closeGraceMs) },
  };
}

function verdictOn(
  method: string | undefined,
  url: string | undefined,
  ready: () => boolean,
): { readonly status: number; readonly text: string } {
  const path = url?.split("?", 1)[0];
  if (path !== "/-/healthy" && path !== "/-/ready") return NOT_FOUND;
  if (method !== "GET" && method !== "HEAD") return NOT_ALLOWED;
  if (path === "/-/healthy") return HEALTHY;
  return ready() ? READY : NOT_READY;
}
