import { answer } from "../raw-upstream.ts";
import { type Behaviour, type Meeting, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

const QUOTA = { type: "https://iana.org/assignments/http-problem-types#quota-exceeded", title: "Quota" };

/** Each by its number, and what it means to us. */
const MEANINGS: readonly (readonly [status: number, meets: Meeting, says: string])[] = [
  [200, "ok", "answered 200 with 2 B"],
  [201, "failed unexpected_status", "answered 201, expected 200"],
  [204, "failed unexpected_status", "answered 204, expected 200"],
  [206, "failed unexpected_status", "answered 206, expected 200"],
  [299, "failed unexpected_status", "answered 299, expected 200"],
  [400, "failed client_error", "answered 400"],
  [401, "rejected unauthorized", "answered 401: the key was rejected"],
  [402, "throttled quota", "answered 402: the quota is spent, or a payment is due"],
  [403, "rejected forbidden", "answered 403: the key does not allow this"],
  [404, "failed client_error", "answered 404"],
  [407, "failed client_error", "answered 407"],
  [408, "failed client_error", "answered 408"],
  [410, "failed client_error", "answered 410"],
  [418, "failed client_error", "answered 418"],
  [421, "failed client_error", "answered 421"],
  [429, "throttled rate", "answered 429: too many requests"],
  [451, "failed client_error", "answered 451"],
  [499, "failed client_error", "answered 499"],
  [500, "failed server_error", "answered 500"],
  [501, "failed server_error", "answered 501"],
  [502, "failed server_error", "answered 502"],
  [503, "failed server_error", "answered 503"],
  [504, "failed server_error", "answered 504"],
  [529, "failed server_error", "answered 529"],
  [599, "failed server_error", "answered 599"],
  [600, "failed unexpected_status", "answered 600, expected 200"],
  [999, "failed unexpected_status", "answered 999, expected 200"],
];

function answering(status: string, body = "{}", headers: readonly string[] = []): Behaviour["open"] {
  return serving(replies(answer(body, headers, status)));
}

/** Whole answers, by their status. */
export const STATUSES: readonly Behaviour[] = [
  ...MEANINGS.map(([status, meets, says]): Behaviour => ({
    does: `answers ${status}`,
    open: answering(`${status} Whatever`, status === 204 ? "" : "{}"),
    meets,
    says,
  })),
  {
    does: "answers 000",
    open: answering("000 Nothing"),
    meets: "failed protocol",
    says: "the answer has an invalid status: 0",
  },
  {
    does: "answers 099",
    open: answering("099 Less"),
    meets: "failed protocol",
    says: "the answer has an invalid status: 99",
  },
  {
    does: "answers 199, and nothing after it",
    open: serving(replies("HTTP/1.1 199 Miscellaneous\r\n\r\n", "end")),
    meets: "failed reset",
    says: "the connection was closed before an answer came",
  },
  {
    does: "answers 429 with Retry-After",
    open: answering("429 Slow Down", "{}", ["Retry-After: 7"]),
    meets: "throttled rate",
    says: "answered 429: too many requests",
  },
  {
    does: "answers 429 and closes within its body",
    open: serving(replies("HTTP/1.1 429 Slow Down\r\nContent-Length: 99\r\n\r\n{", "end")),
    meets: "throttled rate",
    says: "answered 429: too many requests",
  },
  {
    does: "answers 429 and calls it a spent quota",
    open: answering("429 Quota", JSON.stringify(QUOTA), ["Content-Type: application/problem+json"]),
    meets: "throttled quota",
    says: 'answered 429: quota used up, by "type"',
  },
  {
    does: "answers 429 where a policy of a day is exhausted",
    open: answering("429 Quota", "{}", [
      'RateLimit-Policy: "day";q=1000;w=86400',
      'RateLimit: "day";r=0;t=3600',
    ]),
    meets: "throttled quota",
    says: "answered 429: the quota of 24 h is spent",
  },
  {
    does: "answers 500 and resets within its body",
    open: serving(replies("HTTP/1.1 500 No\r\nContent-Length: 99\r\n\r\n{", "reset")),
    meets: "failed reset",
    says: "the connection was closed before the answer was complete: ECONNRESET, after it had answered 500",
  },
  {
    does: "answers 503 with a Retry-After that is no time",
    open: answering("503 Busy", "{}", ["Retry-After: soon\u00ad"]),
    meets: "failed server_error",
    says: "answered 503",
  },
];
