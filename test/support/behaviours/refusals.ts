import { answer } from "../raw-upstream.ts";
import { type Behaviour, type Meeting, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

const CHALLENGE = "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>";

/** What it does, the answer, and what it means to us. */
const MEANINGS: readonly (readonly [
  does: string,
  status: string,
  body: string,
  headers: readonly string[],
  meets: Meeting,
  says: string,
])[] = [
  [
    "answers 401 because the credit is used up",
    "401 Unauthorized",
    '{"errors":[{"message":"Maximum credits exceeded"}]}',
    [],
    "throttled quota",
    'answered 401: credit used up, by "errors[0].message"',
  ],
  [
    "answers 403 because we asked too often",
    "403 Forbidden",
    '{"message":"You have exceeded a secondary rate limit."}',
    ["Retry-After: 60"],
    "throttled rate",
    'answered 403: too many requests, by "message"',
  ],
  [
    "answers 403 because the key is invalid",
    "403 Forbidden",
    '{"name":"invalid_api_key","message":"API key is invalid."}',
    [],
    "rejected unauthorized",
    'answered 403: the key was rejected, by "name"',
  ],
  [
    "answers 401 because the key may not do this",
    "401 Unauthorized",
    '{"name":"restricted_api_key"}',
    [],
    "rejected forbidden",
    'answered 401: the key does not allow this, by "name"',
  ],
  [
    "answers 500 because a quota is used up",
    "500 Whatever",
    '{"fault":{"detail":{"errorcode":"policies.ratelimit.QuotaViolation"}}}',
    [],
    "throttled quota",
    'answered 500: quota used up, by "fault.detail.errorcode"',
  ],
  [
    "answers 200 and calls it a refusal",
    "200 OK",
    '{"status":"OVER_QUERY_LIMIT"}',
    [],
    "throttled rate",
    'answered 200: too many requests, by "status"',
  ],
  [
    "sends us the challenge of a bot protection with 403",
    "403 Forbidden",
    CHALLENGE,
    ["Content-Type: text/html", "cf-mitigated: challenge"],
    "failed blocked",
    'answered 403: a firewall or bot protection blocked us, by "cf-mitigated"',
  ],
  [
    "sends us the challenge of a bot protection with 200",
    "200 OK",
    CHALLENGE,
    ["Content-Type: text/html"],
    "failed blocked",
    "answered 200: a firewall or bot protection blocked us, by the page",
  ],
  [
    "answers 403 with words about limits, and means the right",
    "403 Forbidden",
    '{"message":"Your role cannot read the rate limits and the billing quota"}',
    [],
    "rejected forbidden",
    'answered 403: the key does not allow this, by "message"',
  ],
];

/** Refusals whose status says something else than they mean. */
export const REFUSALS: readonly Behaviour[] = MEANINGS.map(
  ([does, status, body, headers, meets, says]): Behaviour => ({
    does,
    open: serving(replies(answer(body, headers, status))),
    meets,
    says,
  }),
);
