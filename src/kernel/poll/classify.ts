/** Any answer may be judged by these: that it broke off, its status, and that it is not the JSON that it should be. */

import { counted } from "../exchange/json-value.ts";
import { beginningOf } from "../exchange/excerpt.ts";
import { MOST_LEVELS } from "../exchange/json-body.ts";
import type { Answer } from "./answer.ts";
import { type Judge, judgement } from "./judging.ts";

export const brokenOff: Judge = ({ exchange }) => {
  if (exchange.kind === "answered") return undefined;
  const { head, fault, detail } = exchange;
  return judgement(fault, head === undefined ? detail : `${detail}, after it had answered ${head.status}`);
};

export const unexpectedStatus: Judge = ({ isExpected, upstream, head: { status } }) => {
  if (isExpected) return undefined;
  if (status >= 300 && status < 400)
    return judgement("redirect", `answered ${status}: no redirect is followed`);
  if (status >= 400 && status < 500) return judgement("client_error", `answered ${status}`);
  if (status >= 500 && status < 600) return judgement("server_error", `answered ${status}`);
  const { status: expected } = upstream.expect;
  return judgement("unexpected_status", `answered ${status}, expected ${expected.join(" or ")}`);
};

const NO_CONTENT_STATUSES: ReadonlySet<number> = new Set([204, 304]);

/** These have no body. */
export function hasNoContent({ head: { status } }: Answer): boolean {
  return NO_CONTENT_STATUSES.has(status);
}

/** The flaw of a stream, whatever its events say; undefined for none. */
export function flawOf({ stream }: Answer): string | undefined {
  if (stream === undefined) return undefined;
  const { end, events, bytes, first } = stream;
  if (events === 0) return `no event came in its ${bytes} B`;
  const after = counted(end === "error" ? events - 1 : events, "event");
  if (end === "error") return `an error came after ${after} of its stream`;
  if (end === "broke_off") return `its stream ended after ${after}, without the one that ends it`;
  return first === undefined ? `its stream had ${after}, none of which counts` : undefined;
}

/** The events of a stream may speak of limits and keys: only what came in their place, or ended them, is about us. */
export function saysOfLimits({ stream }: Answer): boolean {
  return stream === undefined || stream.events === 0 || stream.end === "error";
}

export const invalidJson: Judge = (answer) => {
  if (!answer.upstream.expect.json || hasNoContent(answer)) return undefined;
  const { kind } = answer.json();
  const { status } = answer.head;
  if (kind === "json") return undefined;
  if (kind === "too_many")
    return judgement("memory", `answered ${status}, but its JSON has more values than there is memory for`);
  return judgement("invalid_body", `answered ${status}${flawOfBody(kind, answer)}`);
};

const BEGINNING_CHARACTERS = 40;

/** A health check that says so in plain text. */
const OK_IN_WORDS = /^\W{0,4}(?:ok|okay|pong|healthy|alive|up|ready|running|success|true)\W{0,8}$/i;
const OK_HINT = "; if that is how it says that it is well, set expect: { json: false }";

function flawOfBody(kind: "empty" | "too_deep" | "not_utf8" | "not_json", answer: Answer): string {
  const body = answer.bytes();
  if (kind === "empty") return " with an empty body where JSON was expected";
  if (kind === "too_deep") return `, but its JSON nests deeper than ${MOST_LEVELS} levels`;
  if (kind === "not_utf8") return `, but its ${body.length} B are not UTF-8`;
  const beginning = answer.withoutKeys(beginningOf(body, BEGINNING_CHARACTERS));
  const isOk = body.length <= BEGINNING_CHARACTERS && OK_IN_WORDS.test(answer.text());
  const hint = isOk ? OK_HINT : "";
  return `, but its ${body.length} B are not JSON: they begin with "${beginning}"${hint}`;
}
