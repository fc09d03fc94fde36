import { expect, test } from "vitest";
import { readTokenAnswer } from "../../../src/features/auth/token-answer.ts";
import { answered } from "../../support/kernel-samples.ts";

const said = (status: number, body: unknown): ReturnType<typeof readTokenAnswer> =>
  readTokenAnswer(answered(status, [], typeof body === "string" ? body : JSON.stringify(body)), String);

const TOKEN = { access_token: "test-key-token", token_type: "Bearer" };

test.each([
  ["seconds", { expires_in: 3_600 }, 3_600_000],
  ["a part of a second", { expires_in: 0.5 }, 500],
  ["seconds in a string", { expires_in: "1800" }, 1_800_000],
  ["no lifetime", {}, 300_000],
  ["a lifetime of null", { expires_in: null }, 300_000],
  ["a negative lifetime", { expires_in: -5 }, 300_000],
  ["a lifetime of 0", { expires_in: 0 }, 300_000],
  ["a lifetime that is a word", { expires_in: "soon" }, 300_000],
  ["a lifetime that is a negative string", { expires_in: "-5" }, 300_000],
  ["a lifetime of ages", { expires_in: 1e308 }, 86_400_000],
  ["no type", { token_type: undefined, expires_in: 60 }, 60_000],
  ["the type in a longer word", { token_type: "BearerToken", expires_in: 60 }, 60_000],
  ["fields that are null", { token_type: null, error: null, expires_in: 60 }, 60_000],
  ["an error that is false", { error: false, expires_in: 60 }, 60_000],
  ["fields that are empty", { token_type: "", error: "", expires_in: 60 }, 60_000],
  ["the type in other letters", { token_type: "bearer", expires_in: 60 }, 60_000],
])("a token with %s is used for as long as makes sense", (_, changes, lifetimeMs) => {
  expect(said(200, { ...TOKEN, ...changes })).toEqual({ kind: "token", value: "test-key-token", lifetimeMs });
});

test("a token that was created is one too", () => {
  expect(said(201, { ...TOKEN, expires_in: 60 })).toMatchObject({ kind: "token", value: "test-key-token" });
});

test.each([
  ["400 with invalid_client", 400, { error: "invalid_client" }, "answered 400: invalid_client", true],
  [
    "400 with unauthorized_client",
    400,
    { error: "unauthorized_client" },
    "answered 400: unauthorized_client",
    true,
  ],
  ["400 with invalid_scope", 400, { error: "invalid_scope" }, "answered 400: invalid_scope", true],
  ["400 with invalid_request", 400, { error: "invalid_request" }, "answered 400: invalid_request", false],
  ["400 without a word", 400, "", "answered 400", false],
  ["401 with HTML", 401, "<html>", "answered 401", true],
  ["200 with an error", 200, { error: "invalid_client" }, "answered 200: invalid_client", true],
  ["200 with a token and an error", 200, { ...TOKEN, error: "x" }, "answered 200: x", false],
  ["a redirect", 302, "", "answered 302: no redirect is followed", false],
  ["429", 429, "", "answered 429", false],
  ["503", 503, "<html>", "answered 503", false],
  ["204", 204, "", "answered 204, but its 0 B are not a JSON object", false],
  ["201 with an error", 201, { error: "invalid_client" }, "answered 201: invalid_client", true],
  ["a key as its error", 400, { error: "test-key-1" }, "answered 400", false],
  ["a sentence as its error", 400, { error: "no such client: x" }, "answered 400", false],
  ["an object as its error", 400, { error: { code: 1 } }, "answered 400", false],
  ["200 with HTML", 200, "<html>", "answered 200, but its 6 B are not a JSON object", false],
  ["200 with a list", 200, [TOKEN], "answered 200, but its 57 B are not a JSON object", false],
  ["200 with null", 200, "null", "answered 200, but its 4 B are not a JSON object", false],
  ["200 with no token", 200, { token_type: "Bearer" }, "answered 200, but without an access_token", false],
  ["200 with a number", 200, { access_token: 5 }, "answered 200, but without an access_token", false],
  [
    "a token with a line break",
    200,
    { access_token: "a\r\nX: b" },
    "answered 200 with an access_token that a header cannot carry",
    false,
  ],
  [
    "an empty token",
    200,
    { access_token: "" },
    "answered 200 with an access_token that a header cannot carry",
    false,
  ],
  [
    "a token of 20 kB",
    200,
    { access_token: "x".repeat(20_000) },
    "answered 200 with an access_token that a header cannot carry",
    false,
  ],
  [
    "a token to be used otherwise",
    200,
    { ...TOKEN, token_type: "DPoP" },
    "answered 200 with a token that is not of the type Bearer",
    false,
  ],
])("%s is no token, and a refusal only where it says so", (_, status, body, says, isRefusal) => {
  const detail = `no access token: the token endpoint ${says}`;
  expect(said(status, body)).toEqual({ kind: "failed", reason: "auth", detail, isConfirmed: isRefusal });
});

test("an answer that broke off is told as what broke it", () => {
  const head = { status: 200, reasonPhrase: "", headers: [] };
  const broken = { kind: "broken", fault: "timeout", detail: "timed out after 10 ms", sent: true } as const;
  expect(readTokenAnswer({ ...broken, head }, String)).toEqual({
    kind: "failed",
    reason: "auth",
    detail: "no access token: timed out after 10 ms, after it had answered 200",
    isConfirmed: false,
  });
  expect(readTokenAnswer({ ...broken, head: undefined }, String)).toMatchObject({
    detail: "no access token: timed out after 10 ms",
  });
});
