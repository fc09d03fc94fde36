import { errors } from "undici";
import { expect, test } from "vitest";
import { explain, type FaultContext, WireError } from "../../src/transport/faults.ts";
import type { Phase } from "../../src/kernel/exchange/exchange.ts";

function context(phase: Phase | undefined, changes: Partial<FaultContext> = {}): FaultContext {
  return { phase, peer: "api.test:443", upstream: "api.test:443", lost: false, encrypted: true, ...changes };
}

const coded = (code: string): Error => Object.assign(new Error("words that may hold anything"), { code });

test.each<[string, Phase, string]>([
  ["ENOTFOUND", "dns", "dns"],
  ["EAI_AGAIN", "dns", "dns"],
  ["EAI_FAIL", "dns", "dns"],
  ["ECONNREFUSED", "connect", "connect"],
  ["ECONNRESET", "connect", "connect"],
  ["EHOSTUNREACH", "connect", "connect"],
  ["ENETUNREACH", "connect", "connect"],
  ["ETIMEDOUT", "connect", "connect"],
  ["ERR_SOCKET_CLOSED", "connect", "connect"],
  ["ECONNRESET", "tls", "tls"],
  ["EPIPE", "tls", "tls"],
  ["ERR_SOCKET_CLOSED", "tls", "tls"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "tls", "tls"],
  ["CERT_HAS_EXPIRED", "tls", "tls"],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "wait", "tls"],
  ["ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE", "wait", "tls"],
  ["EPROTO", "transfer", "tls"],
  ["ECONNRESET", "wait", "reset"],
  ["EPIPE", "wait", "reset"],
  ["ECONNRESET", "transfer", "reset"],
  ["EHOSTUNREACH", "transfer", "reset"],
  ["ETIMEDOUT", "wait", "timeout"],
  ["UND_ERR_HEADERS_OVERFLOW", "wait", "protocol"],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "transfer", "protocol"],
  ["EMFILE", "connect", "bug"],
  ["ENFILE", "dns", "bug"],
  ["ERR_INVALID_ARG_TYPE", "connect", "bug"],
  ["ERR_ASSERTION", "wait", "bug"],
  ["UND_ERR_INVALID_ARG", "wait", "bug"],
  ["SOMETHING_NEW", "transfer", "bug"],
])("%s in the phase %s is %s, told without the error's own words", (code, phase, fault) => {
  const explained = explain(coded(code), context(phase));
  expect(explained.fault).toBe(fault);
  expect(explained.detail).not.toContain("anything");
});

test("an error of the parser after the connection was lost counts as the loss", () => {
  const parser = new errors.HTTPParserError(
    "Response does not match the HTTP/1.1 protocol (Invalid EOF state)",
  );
  expect(explain(parser, context("transfer", { lost: true })).fault).toBe("reset");
  expect(explain(parser, context("transfer"))).toMatchObject({
    fault: "protocol",
    detail: "the answer is not valid HTTP: Invalid EOF state",
  });
});

test("the errors of several addresses are reported together", () => {
  const both = new AggregateError([coded("ECONNREFUSED"), coded("ENETUNREACH"), coded("ECONNREFUSED")]);
  expect(explain(both, context("connect"))).toMatchObject({
    fault: "connect",
    detail: "cannot connect to api.test:443: ECONNREFUSED, ENETUNREACH",
  });
});

test("what has no code, or is thrown before anything began, is our own bug", () => {
  expect(explain(new TypeError("anything"), context("wait"))).toMatchObject({
    fault: "bug",
    detail: "the poll could not be made: TypeError",
  });
  expect(explain("anything", context("wait"))).toMatchObject({ fault: "bug" });
  expect(explain(coded("ECONNRESET"), context(undefined)).fault).toBe("bug");
});

test("a break that we found ourselves keeps our words", () => {
  expect(explain(new WireError("connect", "our words"), context("wait"))).toEqual({
    kind: "break",
    fault: "connect",
    detail: "our words",
  });
});
