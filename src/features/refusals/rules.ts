/** Which words must stand near each other for a refusal, the surest first. Each rule has an answer that it is there for. */

import type { RefusalMeaning } from "./config.ts";
import type { SetName } from "./words.ts";

type Meaning = {
  readonly means: RefusalMeaning;
  /** For people: what it means. */
  readonly says: string;
};

export type Classification = Meaning & {
  /** Where: the place of the evidence, never its content. Undefined for the status itself. */
  readonly by: string | undefined;
  /** A quota, and no word of how long it lasts. */
  readonly isVague?: true;
  /** A piece of the answer, for nobody but `explain`. */
  readonly words?: string;
};

export type Rule = Meaning & {
  /** Statuses that it is believed with. Of a 2xx only answers that look like a failure come here. */
  readonly on: Statuses;
  /** One word of each, in any of its sets, and from the first to the last of them so many words at most. */
  readonly near: { readonly words: number; readonly sets: readonly (readonly SetName[])[] };
  /** Both, unless it says which. */
  readonly in?: "codes" | "sentences";
  /** Sets of which no word may stand beside these, in the same sentence. */
  readonly unless?: readonly SetName[];
  /** The same, anywhere in the answer. */
  readonly unlessAnywhere?: readonly SetName[];
  /** A limit of a day or longer, anywhere in the answer. */
  readonly unlessLong?: true;
  /** It is about a limit of a day or longer: one that speaks of minutes or seconds, and of no day, is a rate. */
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
export const BOT_WALL = { means: "blocked", says: "a firewall or bot protection blocked us" } as const;

/** For people, where only the meaning is known. */
export const SAYS: Readonly<Record<RefusalMeaning, string>> = {
  rate: RATE.says,
  quota: QUOTA.says,
  unauthorized: KEY.says,
  forbidden: RIGHT.says,
  blocked: BOT_WALL.says,
  server_error: "server error",
  client_error: REQUEST.says,
};

export const STATUS_MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [401, KEY],
  [498, KEY],
  [402, { means: "quota", says: "the quota is spent, or a payment is due" }],
  [403, RIGHT],
  [420, RATE],
  [429, RATE],
]);

/** Such an answer speaks of the request: it asks for what is not there, or not as it should be. */
const ABOUT_THE_REQUEST = [404, 410, 413, 414, 415];
const ANSWERS: Statuses = { not: ABOUT_THE_REQUEST };
const INVALID = [...ABOUT_THE_REQUEST, 422];
const USUAL: Statuses = { not: INVALID };
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
/** A plan or a subscription that was asked for is in conflict: "Subscription is already canceled" */
const USUAL_NOT_BROKEN_NOR_409: Statuses = { not: [...INVALID, ...BEHIND_A_GATEWAY, 409, 500] };
const DENYING: Statuses = { only: [200, 401, 403] };

function within(words: number, ...sets: readonly (SetName | readonly SetName[])[]): Rule["near"] {
  return { words, sets: sets.map((each) => (typeof each === "string" ? [each] : each)) };
}

/** A limit that lasts so long. A count beside one says nothing of it: "You have made 12 requests this minute." */
export const IS_LONG: Rule["near"] = within(7, "long", ["limit", "quota", "exceeded"]);
export const IS_SHORT: Rule["near"] = within(11, "short", ["limit", "quota", "exceeded", "rate", "allowed"]);

/** SES says them beside a code of a rate, too: "Throttling", "Daily message quota exceeded." */
export const OF_A_DAY: readonly Rule[] = [
  { ...QUOTA, on: USUAL_NOT_BROKEN, near: within(7, "long", ["limit", "quota"]), unless: ["a_value"] },
  // Requests of a day without a word of a limit are only a count: "This was request 12 of today."
  {
    ...QUOTA,
    on: USUAL_NOT_BROKEN,
    near: within(7, "long", "calls", ["exceeded", "little"]),
    unless: ["a_value"],
  },
];

/** By these alone nobody knows that the request is wrong. */
const MUTE: Statuses = { only: [200, 403] };

/** After all else, as "invalid request" is said of anything. GitHub, 403: "Missing or invalid User Agent string." */
export const BAD_REQUEST: Rule = {
  ...REQUEST,
  on: MUTE,
  near: within(1, "bad_value"),
  unless: ["elsewhere"],
};

/** After the words beside them, as such codes say no more than the status. LiteLLM, 401: "auth_error" of a budget that is spent */
export const AUTH: Rule = { ...KEY, on: OURS_NOT_500, in: "codes", near: within(3, "auth", ["bad", "due"]) };

export const RULES: readonly Rule[] = [
  // SendGrid, 401: "Maximum credits exceeded". Anthropic, 400: "Your credit balance is too low to access the API."
  { ...SPENT, on: ANSWERS, near: within(5, "funds", ["exceeded", "little"]), unless: ["a_value", "short"] },
  // Alibaba, 400: "Arrearage", "Access denied, please make sure your account is in good standing."
  { ...SPENT, on: USUAL_IN_FRONT, near: within(4, "bill", ["due", "closed"]), unless: ["a_value"] },
  // Mailslurp, 429: "Your trial may have expired or you have exceeded the monthly limits for your plan."
  { ...SPENT, on: USUAL_NOT_BROKEN_NOR_409, near: within(5, "plan", "closed"), unless: ["a_value", "key"] },
  // Vault, 429: "rate limit quota exceeded"
  { ...RATE, on: ANSWERS, in: "sentences", near: within(4, "rate", "limit", "quota"), unless: ["a_value"] },
  // Apigee, 500: "Quota limit exceeded." OpenAI, 429: "You exceeded your current quota"
  {
    ...QUOTA,
    on: ANSWERS,
    near: within(10, "quota", "exceeded"),
    unless: ["a_value", "throttled", "busy"],
    isLong: true,
  },
  // OpenWeather, 429: "due to exceeding of requests limitation of your subscription type"
  {
    ...QUOTA,
    on: USUAL,
    near: within(8, "plan", "exceeded"),
    unless: ["a_value", "rate", "busy"],
    isLong: true,
  },
  // Alpha Vantage, 200: "Our standard API rate limit is 25 requests per day."
  ...OF_A_DAY,
  // Mistral, 429: "Service tier capacity exceeded for this model."
  { ...BUSY, on: { only: [200, 429, 430, 498] }, near: within(1, "busy") },
  // Shopline, 433: "Request Blocked". AWS, 403: "Request not allowed due to WAF block."
  {
    ...BOT_WALL,
    on: { only: [403, 405, 406, 418, 430, 433, 444, 503] },
    near: within(6, ["wall", "calls"], "blocked"),
    unless: ["rate", "many", "throttled", "elsewhere", "account"],
    unlessAnywhere: ["api_key", "rate"],
  },
  // SES, 400: "Throttling". GitHub, 403: "You have triggered an abuse detection mechanism."
  // A ban that ends is a throttling. Binance, 418: "IP banned until 1629399758399."
  { ...RATE, on: VAGUE, near: within(1, "throttled"), unless: ["a_value"] },
  // Google Maps, 200: "OVER_QUERY_LIMIT". GitHub, 200: "RATE_LIMIT"
  {
    ...RATE,
    on: VAGUE,
    in: "codes",
    near: within(2, ["rate", "calls"], "limit"),
    unless: ["a_value", "bad"],
  },
  // Meta, 403: "Application request limit reached". Yandex, 403: "Limit is exceeded"
  { ...RATE, on: DENYING, near: within(3, "limit", "exceeded"), unless: ["a_value", "little"] },
  // GitHub, 403: "You have exceeded a secondary rate limit." Linear, 400: "Rate limit exceeded"
  { ...RATE, on: USUAL, near: within(6, ["rate", "calls"], "limit", "exceeded"), unless: ["a_value"] },
  // Bybit, 200: "Too many visits!" TomTom, 403: "Developer Over Qps"
  { ...RATE, on: VAGUE_NOT_401, near: within(5, "many", ["calls", "rate", "short"]), unless: ["a_value"] },
  // With 401, too many of whatever failed are said of a bad key. "Too many requests"
  { ...RATE, on: { only: [401] }, near: within(2, "many", "calls"), unless: ["key"] },
  // GeoNames, 200: "the hourly limit of 1000 credits for demo has been exceeded."
  {
    ...RATE,
    on: VAGUE,
    near: within(5, "short", ["limit", "quota", "exceeded", "rate"]),
    unless: ["a_value"],
  },
  // Datadog, 403: "API key required". VK, 200: "User authorization failed: invalid access_token (4)."
  { ...KEY, on: { only: [200, 401, 403, 498] }, near: within(8, "key", "bad"), unless: ["right"] },
  // Gemini, 400: "API key not valid. Please pass a valid API key." Mandrill, 500: "Invalid API key"
  { ...KEY, on: OURS, near: within(8, "api_key", "bad"), unless: ["right"], unlessAnywhere: ["elsewhere"] },
  // Files, images and functions have signatures, too. Binance, 400: "Signature for this request is not valid."
  { ...KEY, on: OURS_NOT_500, near: within(6, "signature", "bad"), unlessAnywhere: ["elsewhere"] },
  // SendGrid, 403: "unauthorized scopes: [user.credits.read]". Slack, 200: "missing_scope"
  { ...RIGHT, on: DENYING, near: within(5, "not", "right") },
  // Mailgun, 403: "Domain DOMAIN.TEST is not allowed to send"
  { ...RIGHT, on: DENYING, near: within(3, "not", "allowed") },
  // AccuRanker, 200: "Your plan does not include LLM API access"
  { ...RIGHT, on: { only: [200] }, near: within(8, "plan", "not", "calls"), unless: ["a_value"] },
  // OpenAI, 403: "Country, region, or territory not supported"
  { ...PLACE, on: { only: [400, 401, 403, 451] }, near: within(5, "place", "unserved") },
  // Brevo, 401: "unauthorized". DeepSeek, 401: "authentication_error"
  { ...AUTH, in: "sentences" },
  // OpenAI, 401: "account_deactivated". Google, 403: "Consumer 'api_key:…' has been suspended."
  { ...KEY, on: OURS_NOT_500, in: "codes", near: within(7, "account", "closed"), unlessAnywhere: ["bill"] },
  {
    ...KEY,
    on: OURS_NOT_500,
    in: "sentences",
    near: within(7, "account", "closed"),
    unless: ["bill", "a_value"],
  },
  // AWS, 429: "ThrottlingException", beside "The request was denied because it exceeded a quota."
  { ...RATE, on: { only: [429] }, in: "codes", near: within(1, "throttled"), unlessLong: true },
  // Elastic Email, 200: "Access Denied."
  { ...RIGHT, on: { only: [200] }, near: within(1, "denied") },
];
