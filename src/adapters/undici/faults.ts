import { HTTPParserError } from "undici/lib/core/errors.js";
import type { Phase, WireFault } from "../../core/exchange/exchange.ts";

export type Break = { readonly kind: "break"; readonly fault: WireFault; readonly detail: string };

/** A break that we found ourselves, on its way through the library's error channel. */
export class WireError extends Error {
  readonly fault: WireFault;

  constructor(fault: WireFault, detail: string) {
    super(detail);
    this.fault = fault;
  }
}

/** A socket that closed without a word; which fault it is depends on what was going on. */
export class LineLost extends Error {
  readonly code = "ERR_SOCKET_CLOSED";
}

/** What was going on when an error came. */
export type FaultContext = {
  readonly phase: Phase | undefined;
  /** Whom we talk to directly: the upstream, or the proxy before it. */
  readonly peer: string;
  readonly upstream: string;
  /** The peer ended or reset the connection before the error came: what the parser then says is but a consequence. */
  readonly cut: boolean;
  readonly encrypted: boolean;
};

export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Both families were tried: each has its own error. The parser's errors come without their codes. */
function codesOf(error: unknown): string | undefined {
  if (error instanceof HTTPParserError) return codeOf(error) ?? "HPE_INVALID";
  if (!(error instanceof AggregateError)) return codeOf(error);
  const codes = new Set(error.errors.map((one) => codeOf(one) ?? "unknown error"));
  return codes.size === 0 ? codeOf(error) : [...codes].join(", ");
}

/** This machine has run out of something: no word about the upstream. */
const OUR_TROUBLE: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Wrong calls of ours, as Node.js and undici name them. */
const OUR_MISTAKE =
  /^(ERR_(ASSERTION|INVALID_(ARG|STATE|THIS|URL|CHAR)|INTERNAL|MISSING|METHOD|OUT_OF_RANGE|STREAM)|UND_ERR_(INVALID|NOT_SUPPORTED|DESTROYED|CLOSED|ABORTED|INFO|WASM|REQ))/;

const SERVER_BREAKS_RULES: ReadonlySet<string> = new Set(["bad response", "bad upgrade"]);

const LINE_LOST: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "ECONNREFUSED",
  "EPIPE",
  "ENOTCONN",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ENETRESET",
  "ERR_SOCKET_CLOSED",
]);

/** Whether the network, not the parser, ended the connection. */
export function isLineLost(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && (LINE_LOST.has(code) || code === "ETIMEDOUT");
}

const TLS_BROKEN = /^ERR_(SSL|TLS|OSSL)_/;

export function isTlsBroken(error: unknown): boolean {
  return TLS_BROKEN.test(codeOf(error) ?? "");
}

function broken(fault: WireFault, detail: string): Break {
  return { kind: "break", fault, detail };
}

/** Details are our own words and error codes; an error's message may repeat what the upstream sent, so it is left out. */
export function explain(error: unknown, scene: FaultContext): Break {
  if (error instanceof WireError) return broken(error.fault, error.message);
  const codes = codesOf(error);
  if (codes === undefined || OUR_TROUBLE.has(codes) || OUR_MISTAKE.test(codes)) {
    const name = error instanceof Error ? error.name : typeof error;
    return broken("internal", `the poll could not be made: ${codes ?? name}`);
  }
  switch (scene.phase) {
    case "dns":
      return broken("dns", `the name of ${scene.peer} cannot be resolved: ${codes}`);
    case "connect":
      return broken("connect", `no connection to ${scene.peer}: ${codes}`);
    case "tls":
      return broken("tls", `no TLS with ${scene.upstream}: ${codes}`);
    case "wait":
    case "transfer":
      return explainTalk(error, codes, scene);
    case undefined:
      return broken("internal", `the poll could not be made: ${codes}`);
    default:
      return scene.phase satisfies never;
  }
}

/** The parser's reasons are fixed phrases of its own: nothing of the answer is in them. */
function parserReason(error: unknown): string | undefined {
  return error instanceof HTTPParserError ? /\(([^()]+)\)$/.exec(error.message)?.[1] : undefined;
}

function explainTalk(error: unknown, code: string, scene: FaultContext): Break {
  const where = scene.phase === "wait" ? "before an answer" : "before the whole answer";
  const lost = broken("reset", `the connection was closed ${where} had come`);
  const invalid = broken("protocol", `the answer is not valid HTTP: ${parserReason(error) ?? code}`);
  if (TLS_BROKEN.test(code) || (code === "EPROTO" && scene.encrypted)) {
    return broken("tls", `${scene.upstream} broke off TLS after the handshake: ${code}`);
  }
  if (code.startsWith("HPE_") || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") {
    return scene.cut ? lost : invalid;
  }
  if (code === "UND_ERR_HEADERS_OVERFLOW")
    return broken("protocol", "the headers of the answer are too large");
  if (code === "UND_ERR_SOCKET") {
    const rules = error instanceof Error && SERVER_BREAKS_RULES.has(error.message);
    return rules ? broken("protocol", "the answer is not one to this request") : lost;
  }
  if (code === "ETIMEDOUT") return broken("timeout", `the network gave up ${where} had come: ETIMEDOUT`);
  if (LINE_LOST.has(code)) return broken("reset", `${lost.detail}: ${code}`);
  return broken("internal", `unexpected error ${where} had come: ${code}`);
}
