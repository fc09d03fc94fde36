import { isIPv4 } from "node:net";
import { type Guard, PROBE_PATHS, textAnswer } from "./guard.ts";

/**
 * A web page can point its own name at this machine and then read the answers as its own (DNS rebinding), but the
 * browser still sends that name in `Host`. `undefined` allows any name; ports are not compared. `allowedHosts` is called
 * for each request, because a reload can change the names.
 */
export function checkHost(allowedHosts: () => readonly string[] | undefined): Guard {
  return ({ path, url, header, incoming }) => {
    if (hasTwoHosts(incoming.rawHeaders)) return textAnswer("bad request\n", 400);
    const allowed = allowedHosts();
    if (allowed === undefined || PROBE_PATHS.has(path)) return undefined;
    const known = new Set(allowed.map(hostnameOf));
    // An absolute request target has a host of its own.
    const target = incoming.url ?? "";
    const asked = [header("host") ?? url.host, ...(URL.canParse(target) ? [new URL(target).host] : [])];
    if (asked.every((host) => known.has(hostnameOf(host)))) return undefined;
    return textAnswer(
      'cannot answer: "Host" must be a name of this machine or one of web.allowed_hosts\n',
      421,
    );
  };
}

/** Node uses the first one. A proxy in front of us may have used the other. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host").length > 1;
}

/** Names are compared without port, brackets, case and a final dot. */
function hostnameOf(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d*)?|([^:]*)(?::\d*)?)$/.exec(host) ?? [];
  return (bracketed ?? plain ?? host).toLowerCase().replace(/\.$/, "");
}

/** Names that no web page can have. */
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/**
 * The names that `Host` may have; undefined for any. A loopback address is reached from browsers on this machine, so
 * the check is on by default. On other addresses only the operator knows the names that clients use.
 */
export function hostsToAllow(
  configured: readonly string[] | undefined,
  listenHost: string,
): readonly string[] | undefined {
  if (configured === undefined && !isLoopback(listenHost)) return undefined;
  if (configured?.includes("*") === true) return undefined;
  return [...LOOPBACK_NAMES, listenHost, ...(configured ?? [])];
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** No route reads a body. A POST may still have a few bytes, because some clients cannot send none. */
const MAX_POST_BODY_BYTES = 1024;

/** Decides by the headers alone: a refused body is never read, and its connection is closed. */
export const refuseBodies: Guard = ({ method, header }) => {
  const allowedBytes = method === "POST" ? MAX_POST_BODY_BYTES : 0;
  const lengthBytes = Number(header("content-length") ?? 0);
  const isChunked = header("transfer-encoding") !== undefined;
  if (!isChunked && lengthBytes <= allowedBytes) return undefined;
  const received = isChunked ? "a chunked body" : `${lengthBytes} bytes`;
  return textAnswer(
    `cannot accept a request body: "${method}" must have at most ${allowedBytes} bytes, received ${received}\n`,
    413,
    { Connection: "close" },
  );
};

/** For `100-continue`, Node.js itself has told the client that it may go on. */
export const refuseExpectations: Guard = ({ header }) => {
  const expected = header("expect");
  if (expected === undefined || /\b100-continue\b/i.test(expected)) return undefined;
  return textAnswer('cannot do what "Expect" asks for\n', 417);
};
