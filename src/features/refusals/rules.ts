/** Which words must stand near each other for a refusal, the surest first. Each rule has an answer that it is there for. */

import type { RefusalMeaning } from "../../kernel/exchange/outcome.ts";
import * as w from "./words.ts";

type Meaning = {
  readonly means: RefusalMeaning;
  /** For people: what was recognised. */
  readonly says: string;
};

export type Recognition = Meaning & {
  /** Where: the place of the evidence, never its content. Undefined for the status itself. */
  readonly by: string | undefined;
  /** A quota, and no word of how long it lasts. */
  readonly isVague?: true;
  /** What stands there: a piece of the answer, for nobody but `explain`. */
  readonly words?: string;
};

export type Rule = Meaning & {
  /** Statuses that it is believed with. Of a 2xx only answers that look like a failure come here. */
  readonly on: Statuses;
  /** One word of each of the sets, and from the first to the last of them so many words at most. */
  readonly near: { readonly words: number; readonly sets: readonly number[] };
  /** Both, unless it says which. */
  readonly in?: "codes" | "sentences";
  /** Sets of which no word may stand beside these, in the same sentence. */
  readonly unless?: number;
  /** The same, anywhere in the answer. */
  readonly unlessAnywhere?: number;
  /** A limit of a day or longer, anywhere in the answer. */
  readonly unlessLong?: true;
  /** Of a limit that lasts a day or longer: one that speaks of minutes or seconds, and of no day, is a rate. */
  readonly isLong?: true;
};

type Statuses = { readonly only?: readonly number[]; readonly not?: readonly number[] };

export function isOn({ only, not }: Statuses, status: number): boolean {
  return only === undefined ? not?.includes(status) !== true : only.includes(status);
}

const SPENT = { means: "quota", says: "credit used up" } as const;
const QUOTA = { means: "quota", says: "quota used up" } as const;
const RATE = { means: "rate", says: "too many requests" } as const;
const KEY = { means: "unauthorized", says: "the key was rejected" } as const;
const RIGHT = { means: "forbidden", says: "the key does not allow this" } as const;
const PLACE = { means: "forbidden", says: "not served from this place" } as const;
const BUSY = { means: "server_error", says: "overloaded" } as const;
const REQUEST = { means: "client_error", says: "the request itself is refused" } as const;
export const WALL = { means: "blocked", says: "a firewall or bot protection blocked us" } as const;

/** For people, where only the meaning is known. */
export const SAYS: Readonly<Record<RefusalMeaning, string>> = {
  rate: RATE.says,
  quota: QUOTA.says,
  unauthorized: KEY.says,
  forbidden: RIGHT.says,
  blocked: WALL.says,
  server_error: "server error",
  client_error: REQUEST.says,
};

/** What a status means by itself. */
export const STATUS_MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [401, KEY],
  [498, KEY],
  [402, { means: "quota", says: "the quota is spent, or a payment is due" }],
  [403, RIGHT],
  [420, RATE],
  [429, RATE],
]);

/** What was asked for is not there, or not as it should be: such an answer speaks of the request. */
const ABOUT_THE_REQUEST = [404, 410, 413, 414, 415];
const ANSWERS: Statuses = { not: ABOUT_THE_REQUEST };
const INVALID = [...ABOUT_THE_REQUEST, 422];
const USUAL: Statuses = { not: INVALID };
/** What is in conflict is a plan or a subscription that was asked for: "Subscription is already canceled" */
const USUAL_NOT_409: Statuses = { not: [...INVALID, 409] };
/** With these, a status has a meaning of its own, which no word of a rate or of a key changes. */
const CLEAR = [...ABOUT_THE_REQUEST, 402, 409, 422, 429];
const VAGUE: Statuses = { not: CLEAR };
const VAGUE_NOT_401: Statuses = { not: [...CLEAR, 401] };
/**
 * What a gateway quotes of a key is said of somebody else's, and with 407 and 511 a proxy or the network on the way wants
 * to be logged in to.
 */
const BEHIND_A_GATEWAY = [407, 502, 503, 504, 511, ...Array.from({ length: 11 }, (_, index) => 520 + index)];
const OURS: Statuses = { not: [...CLEAR, ...BEHIND_A_GATEWAY] };
const OURS_NOT_500: Statuses = { not: [...CLEAR, ...BEHIND_A_GATEWAY, 500] };
/** Behind a gateway, a service for bills is one of its own that fails. */
const USUAL_IN_FRONT: Statuses = { not: [...INVALID, ...BEHIND_A_GATEWAY] };
/** What a server that is broken says of today is no quota of ours. */
const USUAL_NOT_BROKEN: Statuses = { not: [...INVALID, ...BEHIND_A_GATEWAY, 500] };
const DENYING: Statuses = { only: [200, 401, 403] };

function within(words: number, ...sets: readonly number[]): Rule["near"] {
  return { words, sets };
}

/** A limit that lasts so long. A count beside one says nothing of it: "You have made 12 requests this minute." */
export const IS_LONG: Rule["near"] = within(7, w.LONG, w.LIMIT | w.QUOTA | w.EXCEEDED);
export const IS_SHORT: Rule["near"] = within(8, w.SHORT, w.LIMIT | w.QUOTA | w.EXCEEDED | w.RATE | w.ALLOWED);

/** SES says them beside a code of a rate, too: "Throttling", "Daily message quota exceeded." */
export const OF_A_DAY: readonly Rule[] = [
  { ...QUOTA, on: USUAL_NOT_BROKEN, near: within(7, w.LONG, w.LIMIT | w.QUOTA), unless: w.A_VALUE },
  // Requests of a day without a word of a limit are only a count: "This was request 12 of today."
  {
    ...QUOTA,
    on: USUAL_NOT_BROKEN,
    near: within(7, w.LONG, w.CALLS, w.EXCEEDED | w.LITTLE),
    unless: w.A_VALUE,
  },
];

/** By these alone nobody knows that the request is wrong. */
const MUTE: Statuses = { only: [200, 403] };

/** After all else, as "invalid request" is said of anything. GitHub, 403: "Missing or invalid User Agent string." */
export const BAD_REQUEST: Rule = { ...REQUEST, on: MUTE, near: within(1, w.BAD_VALUE), unless: w.ELSEWHERE };

export const RULES: readonly Rule[] = [
  // SendGrid, 401: "Maximum credits exceeded". Anthropic, 400: "Your credit balance is too low to access the API."
  { ...SPENT, on: ANSWERS, near: within(5, w.FUNDS, w.EXCEEDED | w.LITTLE), unless: w.A_VALUE | w.SHORT },
  // Alibaba, 400: "Arrearage", "Access denied, please make sure your account is in good standing."
  { ...SPENT, on: USUAL_IN_FRONT, near: within(4, w.BILL, w.DUE | w.CLOSED), unless: w.A_VALUE },
  // Mailslurp, 429: "Your trial may have expired or you have exceeded the monthly limits for your plan."
  { ...SPENT, on: USUAL_NOT_409, near: within(5, w.PLAN, w.CLOSED), unless: w.A_VALUE | w.KEY },
  // Vault, 429: "rate limit quota exceeded"
  { ...RATE, on: ANSWERS, in: "sentences", near: within(4, w.RATE, w.LIMIT, w.QUOTA), unless: w.A_VALUE },
  // Apigee, 500: "Quota limit exceeded." OpenAI, 429: "You exceeded your current quota"
  {
    ...QUOTA,
    on: ANSWERS,
    near: within(10, w.QUOTA, w.EXCEEDED),
    unless: w.A_VALUE | w.THROTTLED | w.BUSY,
    isLong: true,
  },
  // OpenWeather, 429: "due to exceeding of requests limitation of your subscription type"
  {
    ...QUOTA,
    on: USUAL,
    near: within(8, w.PLAN, w.EXCEEDED),
    unless: w.A_VALUE | w.RATE | w.BUSY,
    isLong: true,
  },
  // Alpha Vantage, 200: "Our standard API rate limit is 25 requests per day."
  ...OF_A_DAY,
  // Mistral, 429: "Service tier capacity exceeded for this model."
  { ...BUSY, on: { only: [200, 429, 430, 498] }, near: within(1, w.BUSY) },
  // Shopline, 433: "Request Blocked". AWS, 403: "Request not allowed due to WAF block."
  {
    ...WALL,
    on: { only: [403, 405, 406, 418, 430, 433, 444, 503] },
    near: within(6, w.WALL | w.CALLS, w.BLOCKED),
    unless: w.RATE | w.MANY | w.THROTTLED | w.ELSEWHERE | w.ACCOUNT,
    unlessAnywhere: w.API_KEY | w.RATE,
  },
  // SES, 400: "Throttling". GitHub, 403: "You have triggered an abuse detection mechanism."
  // A ban that ends is a throttling. Binance, 418: "IP banned until 1629399758399."
  { ...RATE, on: VAGUE, near: within(1, w.THROTTLED), unless: w.A_VALUE },
  // Google Maps, 200: "OVER_QUERY_LIMIT". GitHub, 200: "RATE_LIMIT"
  { ...RATE, on: VAGUE, in: "codes", near: within(2, w.RATE | w.CALLS, w.LIMIT), unless: w.A_VALUE | w.BAD },
  // Meta, 403: "Application request limit reached". Yandex, 403: "Limit is exceeded"
  { ...RATE, on: DENYING, near: within(3, w.LIMIT, w.EXCEEDED), unless: w.A_VALUE },
  // GitHub, 403: "You have exceeded a secondary rate limit." Linear, 400: "Rate limit exceeded"
  { ...RATE, on: USUAL, near: within(6, w.RATE | w.CALLS, w.LIMIT, w.EXCEEDED), unless: w.A_VALUE },
  // Bybit, 200: "Too many visits!" TomTom, 403: "Developer Over Qps"
  { ...RATE, on: VAGUE_NOT_401, near: within(5, w.MANY, w.CALLS | w.RATE | w.SHORT), unless: w.A_VALUE },
  // With 401, too many of whatever failed are said of a bad key. "Too many requests"
  { ...RATE, on: { only: [401] }, near: within(2, w.MANY, w.CALLS), unless: w.KEY },
  // GeoNames, 200: "the hourly limit of 1000 credits for demo has been exceeded."
  {
    ...RATE,
    on: VAGUE,
    near: within(5, w.SHORT, w.LIMIT | w.QUOTA | w.EXCEEDED | w.RATE),
    unless: w.A_VALUE,
  },
  // Datadog, 403: "API key required". VK, 200: "User authorization failed: invalid access_token (4)."
  { ...KEY, on: { only: [200, 401, 403, 498] }, near: within(8, w.KEY, w.BAD), unless: w.RIGHT },
  // Gemini, 400: "API key not valid. Please pass a valid API key." Mandrill, 500: "Invalid API key"
  { ...KEY, on: OURS, near: within(8, w.API_KEY, w.BAD), unless: w.RIGHT, unlessAnywhere: w.ELSEWHERE },
  // SendGrid, 403: "unauthorized scopes: [user.credits.read]". Slack, 200: "missing_scope"
  { ...RIGHT, on: DENYING, near: within(5, w.NOT, w.RIGHT) },
  // Mailgun, 403: "Domain DOMAIN.TEST is not allowed to send"
  { ...RIGHT, on: DENYING, near: within(3, w.NOT, w.ALLOWED) },
  // AccuRanker, 200: "Your plan does not include LLM API access"
  { ...RIGHT, on: { only: [200] }, near: within(8, w.PLAN, w.NOT, w.CALLS), unless: w.A_VALUE },
  // OpenAI, 403: "Country, region, or territory not supported"
  { ...PLACE, on: { only: [400, 401, 403, 451] }, near: within(5, w.PLACE, w.UNSERVED) },
  // Brevo, 401: "unauthorized". DeepSeek, 401: "authentication_error"
  { ...KEY, on: OURS_NOT_500, near: within(3, w.AUTH, w.BAD | w.DUE) },
  // OpenAI, 401: "account_deactivated". Google, 403: "Consumer 'api_key:…' has been suspended."
  { ...KEY, on: OURS_NOT_500, in: "codes", near: within(7, w.ACCOUNT, w.CLOSED), unlessAnywhere: w.BILL },
  {
    ...KEY,
    on: OURS_NOT_500,
    in: "sentences",
    near: within(7, w.ACCOUNT, w.CLOSED),
    unless: w.BILL | w.A_VALUE,
  },
  // AWS, 429: "ThrottlingException", beside "The request was denied because it exceeded a quota."
  { ...RATE, on: { only: [429] }, in: "codes", near: within(1, w.THROTTLED), unlessLong: true },
  // Elastic Email, 200: "Access Denied."
  { ...RIGHT, on: { only: [200] }, near: within(1, w.DENIED) },
];
