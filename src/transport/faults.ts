import { codeOf } from "../kernel/text/escape.ts";
import type { Phase, WireFault } from "../kernel/exchange/exchange.ts";

export type Break = { readonly kind: "break"; readonly fault: WireFault; readonly detail: string };

/**
 * An error that ends a socket. Node.js writes out its stack, which nobody reads, and for that all maps of the sources are
 * read into memory, for good: so it has none.
 */
class EndOfSocket extends Error {
  override readonly stack: string = "";
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** A socket closed without an error. Which fault that is depends on the phase. */
export const SOCKET_CLOSED: Error = new EndOfSocket("the socket closed", "ERR_SOCKET_CLOSED");

/**
 * We ended the connection, after a complete answer. The code tells undici that its client stays usable. One for all polls:
 * undici would make one for each.
 */
export const ANSWER_READ: Error = new EndOfSocket("the answer was read", "UND_ERR_INFO");

/** A break that we found ourselves, on its way through undici's error channel. */
export class WireError extends EndOfSocket {
  readonly fault: WireFault;

  constructor(fault: WireFault, detail: string) {
    super(detail);
    this.fault = fault;
  }
}

/** The state of the exchange when an error came. */
export type FaultContext = {
  readonly phase: Phase | undefined;
  /** We connect to it: the upstream, or the proxy before it. */
  readonly peer: string;
  readonly upstream: string;
  /** The peer ended or reset the connection before the error came: an error of the parser is only a consequence. */
  readonly lost: boolean;
  readonly encrypted: boolean;
};

/** Details are our own words and error codes. An error's message may repeat what the upstream sent, so it is left out. */
export function explain(error: unknown, context: FaultContext): Break {
  if (error instanceof WireError) return broken(error.fault, error.message);
  const codes = codesOf(error);
  if (codes === undefined || OUT_OF_RESOURCES.has(codes) || OUR_MISTAKE.test(codes)) {
    const name = error instanceof Error ? error.name : typeof error;
    return broken("bug", `the poll could not be made: ${codes ?? name}`);
  }
  switch (context.phase) {
    case "dns":
      return broken("dns", `cannot resolve the name of ${context.peer}: ${codes}`);
    case "connect":
      return broken("connect", `cannot connect to ${context.peer}: ${codes}`);
    case "tls":
      return broken("tls", `TLS handshake with ${context.upstream} failed: ${codes}`);
    case "wait":
    case "transfer":
    case "first_event":
    case "stream":
      return explainAnswer(error, codes, context);
    case undefined:
      return broken("bug", `the poll could not be made: ${codes}`);
    default:
      return context.phase satisfies never;
  }
}

function explainAnswer(
  error: unknown,
  code: string,
  { phase, upstream, encrypted, lost }: FaultContext,
): Break {
  const when = phase === "wait" ? "before an answer came" : "before the answer was complete";
  const closed = broken("reset", `the connection was closed ${when}`);
  if (TLS_ERROR.test(code) || (code === "EPROTO" && encrypted)) {
    return broken("tls", `${upstream} aborted TLS after the handshake: ${code}`);
  }
  if (code.startsWith("HPE_") || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") {
    return lost ? closed : broken("protocol", `the answer is not valid HTTP: ${parserReason(error) ?? code}`);
  }
  if (code === "UND_ERR_HEADERS_OVERFLOW")
    return broken("protocol", "the headers of the answer are too large");
  if (code === "UND_ERR_SOCKET") {
    const isUnrelated = error instanceof Error && UNRELATED_ANSWER.has(error.message);
    return isUnrelated ? broken("protocol", "the answer does not belong to this request") : closed;
  }
  if (code === "ETIMEDOUT") return broken("timeout", `the network timed out ${when}: ETIMEDOUT`);
  if (CONNECTION_LOST.test(code)) return broken("reset", `${closed.detail}: ${code}`);
  return broken("bug", `unexpected error ${when}: ${code}`);
}

export function broken(fault: WireFault, detail: string): Break {
  return { kind: "break", fault, detail };
}

/** This machine has run out of something, which says nothing about the upstream. */
const OUT_OF_RESOURCES: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Wrong calls of ours, as Node.js and undici name them. */
const OUR_MISTAKE =
  /^(ERR_(ASSERTION|INVALID_(ARG|STATE|THIS|URL|CHAR)|INTERNAL|MISSING|METHOD|OUT_OF_RANGE|STREAM)|UND_ERR_(INVALID|NOT_SUPPORTED|DESTROYED|CLOSED|ABORTED|INFO|WASM|REQ))/;

/** undici's messages for an answer that nothing was asked for. */
const UNRELATED_ANSWER: ReadonlySet<string> = new Set(["bad response", "bad upgrade"]);

const CONNECTION_LOST =
  /^(ECONN(RESET|ABORTED|REFUSED)|EPIPE|ENOTCONN|EHOST(UNREACH|DOWN)|ENET(UNREACH|DOWN|RESET)|ERR_SOCKET_CLOSED)$/;

const TLS_ERROR = /^ERR_(SSL|TLS|OSSL)_/;

/** Whether the network, not the parser, ended the connection. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && (CONNECTION_LOST.test(code) || code === "ETIMEDOUT");
}

export function isTlsError(error: unknown): boolean {
  return TLS_ERROR.test(codeOf(error) ?? "");
}

/** Where several addresses were tried, each has its own error. Some errors of undici's parser have no code. */
function codesOf(error: unknown): string | undefined {
  if (isParserError(error)) return codeOf(error) ?? "HPE_INVALID";
  if (!(error instanceof AggregateError)) return codeOf(error);
  const codes = new Set(error.errors.map((one) => codeOf(one) ?? "unknown error"));
  return codes.size === 0 ? codeOf(error) : [...codes].join(", ");
}

/** The parser's reasons are fixed phrases of its own: nothing of the answer is in them. */
function parserReason(error: unknown): string | undefined {
  return isParserError(error) ? /\(([^()]+)\)$/.exec(error.message)?.[1] : undefined;
}

function isParserError(error: unknown): error is Error {
  return error instanceof Error && error.name === "HTTPParserError";
}
