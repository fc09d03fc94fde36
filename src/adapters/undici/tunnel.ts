import type { Socket } from "node:net";
import { WireError } from "./faults.ts";
import type { ProxyServer } from "./proxy.ts";

const HEAD_MAX_BYTES = 16_384;
const INTERIM_MAX = 16;

/**
 * Asks a proxy to pass bytes on to `authority`. It is written here, and not left to the library, so that a refusal is
 * no answer of the upstream, and so that no header of the request can reach the proxy.
 */
export function openTunnel(
  socket: Socket,
  authority: string,
  proxy: ProxyServer,
  done: (error: WireError | undefined) => void,
): void {
  let received = Buffer.alloc(0);
  let interim = 0;

  function finish(error: WireError | undefined, rest: Buffer): void {
    socket.off("data", onData).off("end", onEnd).pause();
    if (rest.length > 0) socket.unshift(rest);
    done(error);
  }

  function refuse(detail: string): void {
    finish(new WireError("connect", detail), Buffer.alloc(0));
  }

  function onEnd(): void {
    refuse("the proxy closed the connection before it answered CONNECT");
  }

  function onData(chunk: Buffer): void {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const end = received.indexOf("\r\n\r\n");
      if (end < 0) break;
      const status = statusOf(received.toString("latin1", 0, end));
      received = received.subarray(end + 4);
      if (status >= 200 && status < 300) return finish(undefined, received);
      if (!(status >= 100 && status < 200)) return refuse(refusal(status));
      interim += 1;
    }
    if (received.length > HEAD_MAX_BYTES || interim > INTERIM_MAX) {
      refuse("the proxy's answer to CONNECT is too long");
    }
  }

  socket.on("data", onData).on("end", onEnd);
  const credentials =
    proxy.authorization === undefined ? "" : `Proxy-Authorization: ${proxy.authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`, "latin1");
}

function statusOf(head: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(head)?.[1] ?? Number.NaN);
}

function refusal(status: number): string {
  return Number.isNaN(status)
    ? "the proxy's answer to CONNECT is not HTTP"
    : `the proxy answered ${status} to CONNECT`;
}
