import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** One request at our own port. */
export type HttpRequest = {
  readonly method: string;
  readonly url: URL;
  /** Without what only spells it in another way. */
  readonly path: string;
  /** All values of it, if it was sent more than once. The name is in lower case. */
  readonly header: (name: string) => string | undefined;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
};

export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parts are taken one by one, when the client can take them. */
  readonly body: string | AsyncIterable<Uint8Array> | undefined;
};

/** In front of the routes: it answers itself, or lets the request pass. */
export type Guard = (request: HttpRequest) => HttpAnswer | undefined | Promise<HttpAnswer | undefined>;

export function textAnswer(
  body: string,
  status: number = 200,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return { status, headers: { ...headers, "Content-Type": "text/plain; charset=UTF-8" }, body };
}

/** Exempt from basic auth, the host check and the answer queue: orchestrators probe by address, without a password. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(["/-/healthy", "/-/ready"]);

/**
 * Calls back once, when the last byte of the answer is sent or the connection is closed. Either may have happened
 * already: a client can hang up while its password is checked, and `close` is emitted only once.
 */
export function whenResponseEnds(
  { incoming, outgoing }: Pick<HttpRequest, "incoming" | "outgoing">,
  callback: () => void,
): void {
  if (outgoing.closed || incoming.socket.destroyed) callback();
  else outgoing.once("close", callback);
}

/** By a reset: after a normal close, the kernel keeps what the client has not read for minutes. */
export function cutOff(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
