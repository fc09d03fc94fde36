/** Reads a token endpoint's answer (RFC 6749, sections 5.1 and 5.2). */

import type { Exchange, WithoutKeys } from "../../kernel/exchange/exchange.ts";
import { readJson } from "../../kernel/exchange/json-body.ts";
import { isObject } from "../../kernel/text/json.ts";
import type { Ending } from "../../kernel/poll/ports.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";

/** Servers accept no longer header. The search for a token takes as long as it is. */
const TOKEN_CHARS = 8_192;

export type TokenAnswer =
  | { readonly kind: "token"; readonly value: string; readonly lifetimeMs: number }
  | Ending;

/** Where the answer names no lifetime that makes sense. Too long costs a refused poll, too short a request. */
const ASSUMED_LIFETIME_MS = 300_000;
/** Whatever it says: a client that was revoked or rotated is noticed within a day. */
const MOST_LIFETIME_MS = DAY_MS;

/** A header can carry these in one piece. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** As some gateways call it too. */
const BEARER = /^bearer(?:token)?$/i;

/** The endpoint speaks about our client or what it may do: to ask again changes nothing. */
const REFUSALS: ReadonlySet<unknown> = new Set(["invalid_client", "unauthorized_client", "invalid_scope"]);

/** An answer may repeat what it was sent: nothing but a code that looks like one is taken from it. */
const ERROR_CODE = /^[a-z]{1,20}(?:_[a-z]{1,20}){0,3}$/;

export function readTokenAnswer(exchange: Exchange, withoutKeys: WithoutKeys): TokenAnswer {
  if (exchange.kind === "broken") {
    const status = exchange.head?.status;
    const after = status === undefined ? "" : `, after it had answered ${status}`;
    return noToken(`${exchange.detail}${after}`, status === 401);
  }
  const { status } = exchange.head;
  const body = readJson(exchange.body);
  const answer = body.kind === "json" && isObject(body.value) ? body.value : undefined;
  const error = answer?.["error"];
  const answered = `the token endpoint answered ${status}`;
  if (!isIn(200, status) || isThere(error)) {
    const code = typeof error === "string" && ERROR_CODE.test(error) ? `: ${withoutKeys(error)}` : "";
    const redirect = isIn(300, status) ? ": no redirect is followed" : "";
    const isRefusal = status === 401 || ((status === 400 || isIn(200, status)) && REFUSALS.has(error));
    return noToken(`${answered}${code}${redirect}`, isRefusal);
  }
  if (answer === undefined)
    return noToken(`${answered}, but its ${exchange.body.length} B are not a JSON object`);
  const { access_token: value, token_type: type, expires_in: expiresIn } = answer;
  if (typeof value !== "string") return noToken(`${answered}, but without an access_token`);
  if (value.length > TOKEN_CHARS || !SENDABLE.test(value))
    return noToken(`${answered} with an access_token that a header cannot carry`);
  if (isThere(type) && !(typeof type === "string" && BEARER.test(type)))
    return noToken(`${answered} with a token that is not of the type Bearer`);
  return { kind: "token", value, lifetimeMs: lifetimeMsOf(expiresIn) };
}

/** In seconds; some send a string. */
function lifetimeMsOf(expiresIn: unknown): number {
  const isText = typeof expiresIn === "string" && /^\d{1,15}$/.test(expiresIn);
  const seconds = isText ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== "number" || !(seconds > 0)) return ASSUMED_LIFETIME_MS;
  return Math.min(seconds * 1_000, MOST_LIFETIME_MS);
}

export function noToken(detail: string, isRefusal: boolean = false): Ending {
  const said = `no access token: ${detail}`;
  return { kind: "failed", reason: "auth", detail: said, isConfirmed: isRefusal };
}

/** Some servers send every field, also those without a value. */
function isThere(field: unknown): boolean {
  return field !== undefined && field !== null && field !== "" && field !== false;
}

/** All codes from 200 to 299 are a success, though the standard knows of 200 only: some frameworks say 201 to each POST. */
function isIn(hundred: 200 | 300, status: number): boolean {
  return status >= hundred && status < hundred + 100;
}
