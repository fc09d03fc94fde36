/** Everything by which a refusal is known, the surest first. Data: `recognise.ts` goes through it from top to bottom. */

import type { RefusalMeaning } from "../exchange/outcome.ts";

/** Statuses that a sign is believed with. Of a 2xx only answers that look like a failure come here. */
export type Statuses = { readonly only?: readonly number[]; readonly not?: readonly number[] };

export type Recogniser = {
  readonly means: RefusalMeaning;
  /** For people: what was recognised. */
  readonly says: string;
  readonly on: Statuses;
  /** Where it is looked for. A header is given by its name. */
  readonly in: "code" | "words" | "page" | { readonly header: string };
  /** A quick look before the expression: one of these must stand there. None: no such look. */
  readonly stems: readonly string[];
  readonly sign: RegExp;
  readonly unless?: RegExp;
  /** Only of a limit that lasts a day or longer: a word about a minute or a second speaks against it. */
  readonly isLong?: boolean;
};

const ANY: Statuses = {};
/** What was asked for is not there, or not as it should be: such an answer speaks of the request. */
const ABOUT_THE_REQUEST = [404, 410, 413, 414, 415, 422];
const NOT_ABOUT_THE_REQUEST: Statuses = { not: ABOUT_THE_REQUEST };
/** Without a meaning of its own, or with one that providers get wrong. */
const VAGUE: Statuses = { not: [...ABOUT_THE_REQUEST, 401, 402, 429] };

/** Where its stem is the whole sign. */
export const ANYTHING: RegExp = /./;

const WALL = "a firewall or bot wall refused us";
const SPENT = "credit used up";
const QUOTA = "quota used up";
const RATE = "too many requests";
const KEY = "the key was not accepted";
const RIGHT = "the key does not allow this";
const PLACE = "not served from this place";
const BUSY = "overloaded";
const REQUEST = "the request itself is refused";

/** For people, where only the meaning is known. */
export const SAYS: Readonly<Record<RefusalMeaning, string>> = {
  rate: RATE,
  quota: QUOTA,
  unauthorized: KEY,
  forbidden: RIGHT,
  blocked: WALL,
  server_error: "server error",
  client_error: REQUEST,
};

const MONEY = "(?:credits?|funds|balance|budget|prepayment|allocation|allowance)";
const LONG_PERIOD = "(?:daily|weekly|monthly|annual|yearly)";
const GONE =
  "(?:exceeded|exhausted|depleted|reached|used up|spent|hit|violation|surpassed|over|ran out|run out)";
const API_KEY =
  "(?:api ?keys?|access keys?(?: id)?|access ?tokens?|api ?tokens?|auth(?:entication|orization)? ?tokens?|bearer tokens?|oauth tokens?|security tokens?|credentials|authentication credentials|personal access tokens?)";
const BAD =
  "(?:invalid|incorrect|bad|missing|unknown|expired|revoked|wrong|disabled|deactivated|inactive|malformed)";

const MONEY_SIGN = new RegExp(
  [
    `\\b(?:insufficient|not enough|out of|no|low|too few|lack of) (?:\\w+ ){0,3}${MONEY}\\b`,
    "\\binsufficient quota\\b",
    `\\b${MONEY} (?:\\w+ ){0,3}(?:${GONE}|too low|insufficient|empty|negative)\\b`,
    `(?:\\b(?:exceeded|exhausted|depleted|used up|used all|spent|run out of|ran out of|consumed all|requires more|need more|add more)|(?<![\\d.,$])0)(?: \\w+){0,4} ${MONEY}\\b`,
    "\\bspend(?:ing)? (?:limit|cap)\\b",
    "\\barrears?\\b|\\barrearage\\b|\\bpayment (?:is )?(?:required|overdue|past due|failed)\\b|\\bunpaid (?:bill|invoice|balance)\\b|\\bin good standing\\b",
    "\\bbilling (?:\\w+ )?(?:hard limit|not active|inactive|disabled|error|issue|required|not enabled)\\b|\\b(?:invoice|account) (?:is )?(?:overdue|past due)\\b",
    "\\b(?:trial|subscription|plan)(?: \\w+){0,3} (?:expired|has ended|is over)\\b",
    "余额不足|欠费|额度已|充值|残高不足",
  ].join("|"),
);

const QUOTA_SIGN = new RegExp(
  [
    `\\bquotas? (?:\\w+ ){0,5}?${GONE}\\b`,
    `\\b(?:exceed(?:ed|s)?|exhausted|reached|out of|over|used up|hit|depleted)(?: \\w+){0,4} (?:quota|usage limits?|usage cap|plans? limits?)\\b`,
    `\\b(?:usage|plan)s? (?:limits?|caps?) (?:\\w+ ){0,3}?${GONE}\\b`,
    `\\b${LONG_PERIOD} (?:\\w+ ){0,4}(?:limits?|quotas?|allowance|allocation|caps?|usage|requests)\\b`,
    "\\b(?:limits?|quotas?|allowance|maximum|allowed)(?: [\\w,.]+){0,6} (?:per|a|each|every|/) ?(?:day|week|month|year)\\b",
    "\\b(?:requests|calls|queries|units|tokens|credits) (?:per|a|/) ?(?:day|week|month)\\b",
    "\\bper (?:day|month|week) per\\b",
    "\\bbandwidth limit exceeded\\b",
    "配额(?:已|不足|超)",
  ].join("|"),
);

const RATE_SIGN = new RegExp(
  [
    "\\brate ?limit(?:s|ed|ing)? (?:\\w+ ){0,4}?(?:exceeded|exceed|error|reached|hit|surpassed|triggered|violation|exceeding)\\b",
    "\\b(?:exceed(?:ed|s|ing)?|reached|hit|over|surpassed)(?: \\w+){0,4} (?:rate|request|call|query|api|usage) ?limits?\\b",
    "\\brate ?limited\\b|\\btoo ?many (?:\\w+ ){0,2}?(?:requests|api calls|calls|queries)\\b|\\btoomanyrequests\\b",
    "\\b(?:was|been|is|being|get|got|are|request) throttled\\b|\\bthrottling\\b|\\bslow ?down\\b|\\brequests? (?:rate )?(?:is |are )?too (?:large|high|fast|frequent(?:ly)?|often)\\b",
    "\\b(?:request|query|call|api|concurren\\w{1,3}) limits? (?:\\w+ )?(?:reached|exceeded|hit)\\b|\\brate exceeded\\b|\\breduce your request rate\\b",
    "\\babuse detection\\b|\\btoo much request weight\\b|\\benhance your calm\\b|\\bexcessive (?:\\w+ )?(?:requests|rate)\\b|\\bover (?:query|request) (?:limit|rate)\\b",
    "\\b(?:requests|calls|queries) per (?:second|minute|hour)\\b",
    "请求过于频繁|请求频率|限流|速率限制|リクエストが多すぎ",
  ].join("|"),
);

const RATE_CODE =
  /\brate ?limit(?:s|ed|ing)?\b|\brate exceeded\b|\btoo ?many ?requests\b|\bthrottl(?:ed|ing)\b|\bthrottle\b|\bslow ?down\b|\b(?:request|query|call|concurrency|api) ?limit ?(?:exceeded|reached)\b|\bover (?:query|request|qps) (?:limit|rate)\b|^(?:http )?429$/m;

const KEY_CODE =
  /\b(?:invalid|expired|revoked|missing|bad|unknown|incorrect|inactive|disabled|blocked|unrecognized) (?:api |access |auth |my )?(?:key|credentials?|client|session|login|auth|authentication)\b|\b(?:api|access|auth|secret)? ?key (?:id )?(?:is )?(?:invalid|expired|missing|required|revoked|disabled|inactive|blocked|not found|not valid)\b|\b(?:invalid|expired|revoked|missing) (?:access |auth |authentication |security |bearer |api |o auth |oauth |session )?token(?: id)?(?: exception| error)?$|\btoken (?:is )?(?:invalid|expired|revoked|missing|inactive|not found|not valid|blocked)\b|\bunauth(?:orized|enticated)?$|^unauth|\bauthentication (?:error|failed|failure|required|exception)\b|\binvalid auth\b|\bnot authed\b|\bauth (?:error|failed|required)\b|\bsignature (?:does )?not match\b|\bsignature invalid\b|\binvalid (?:session|signature)(?: id)?\b|\baccount (?:inactive|deactivated|suspended|disabled|closed)\b|\bno auth\b|\bexpired ?token\b|\bexpired signature\b/m;

const KEY_SIGN = new RegExp(
  [
    `\\b(?:${BAD}|no|no valid|not a valid)(?: \\w+){0,3} ${API_KEY}\\b`,
    `\\b${API_KEY} (?:\\w+ ){0,6}?(?:not valid|not found|not provided|not recogni[sz]ed|required|does not exist|${BAD})\\b`,
    "\\b(?:api )?key (?:is |was |has been )?(?:invalid|expired|revoked|not valid|required|missing)\\b",
    "\\bauthentication (?:fails|failed|required|is required|not found)\\b|\\bnot authenticated\\b|\\bplease authenticate\\b|\\bvalidating access token\\b|\\bsession (?:has |is )?expired\\b",
    "\\b(?:account|organi[sz]ation) (?:\\w+ ){0,6}?(?:deactivated|closed|terminated|suspended|disabled)\\b",
    "\\binvalid token or\\b",
  ].join("|"),
);

const NO_RIGHT =
  /\binsufficient (?:\w+ ){0,2}(?:scopes?|permissions?|privileges?|rights|access|role)\b|\bmissing (?:\w+ ){0,2}(?:scopes?|permissions?|privileges?)\b|\b(?:permission|access) denied\b|\brestricted (?:api )?key\b|\bkey (?:is )?restricted\b|\brestricted to only\b|\bnot (?:authorized|allowed|permitted|entitled) (?:to|for)\b|\b(?:does not|doesnt|do not|dont|lacks?) (?:\w+ ){0,3}(?:permissions?|scopes?|privileges?|access|rights)\b|\baccess restricted\b|\bno permission\b/;

const NOT_HERE =
  /\b(?:country|region|territory|location)(?:\w| or | and |,){0,20} (?:\w+ ){0,3}?(?:not supported|unsupported|not available|restricted|not allowed|blocked|not permitted)\b|\bunsupported (?:country|region|location|territory)\b|\b(?:restricted|unsupported) (?:location|country|region|jurisdiction)\b|\bnot (?:available|supported|allowed|offered|served) (?:in|from) (?:your|this) (?:country|region|location|territory|jurisdiction)\b/;

/** What only the pages of walls say, in lower case. */
const WALL_PAGE: readonly string[] = [
  // Cloudflare
  "<title>attention required! | cloudflare",
  "<title>just a moment...",
  "_cf_chl_opt",
  "cf-browser-verification",
  "sorry, you have been blocked",
  "used cloudflare to restrict access",
  "has banned your access",
  "has banned your ip",
  "has banned the",
  "checking your browser before accessing",
  // Akamai
  "errors.edgesuite.net",
  // Imperva, F5, DataDome, HUMAN, Radware
  "incapsula incident id",
  "_incapsula_resource",
  "pardon our interruption",
  "the requested url was rejected. please consult with your administrator",
  "<title>request rejected</title>",
  "captcha-delivery.com",
  "px-captcha",
  "_pxappid",
  "validate.perfdrive.com",
  // AWS, Azure, Vercel
  "gokuprops",
  "awswafcookie",
  "request blocked. we can't connect to the server",
  "the request is blocked.",
  "vercel security checkpoint",
  // Others
  "sucuri website firewall",
  "generated by wordfence",
  "mod_security",
  "webknight",
  "errors.aliyun.com",
  "fortiguard",
  "fortiweb",
  "barracuda networks",
  "request forbidden by administrative rules",
  "ddos-guard",
  "ddos protection by",
  "stackpath",
  "qrator",
  "our systems have detected unusual traffic",
  "may be sending automated queries",
  "web application firewall",
  "application firewall alert",
  "verify you are human",
  "verify that you are human",
  "are you a robot",
  "enable javascript and cookies to continue",
  "we're verifying your browser",
];

const WALL_WORDS =
  /\bwaf\b|\b(?:request|access|traffic|connection|ip(?: address)?) (?:\w+ ){0,3}?(?:blocked|banned|blacklisted|denylisted)\b|\bblocked by (?:\w+ ){0,3}(?:firewall|security|waf|policy|rule)\b|\b(?:firewall|security) (?:\w+ ){0,2}(?:blocked|rejected|denied)\b|\b(?:bot|automated|suspicious|malicious) (?:\w+ ){0,2}(?:detected|traffic|activity|requests?)\b|\bcaptcha\b/;

const MONEY_STEMS = [
  "credit",
  "fund",
  "balance",
  "budget",
  "prepay",
  "alloca",
  "allowance",
  "quota",
  "spend",
  "arrear",
  "pay",
  "unpaid",
  "standing",
  "billing",
  "overdue",
  "past due",
  "trial",
  "subscription",
  "plan",
  "余",
  "欠",
  "额",
  "充",
  "残",
];
const QUOTA_STEMS = ["quota", "limit", "daily", "weekly", "monthly", "day", "month", "week", "year", "配"];
const RIGHT_STEMS = [
  "insufficient",
  "missing",
  "denied",
  "restricted",
  "not ",
  "doesnt",
  "dont",
  "lack",
  "no permission",
];
const PLACE_STEMS = ["country", "region", "territory", "location", "jurisdiction"];
const RATE_CODE_STEMS = ["limit", "rate exceeded", "many", "throttl", "slow", "over ", "429"];
const KEY_CODE_STEMS = [
  "key",
  "credential",
  "client",
  "session",
  "login",
  "auth",
  "token",
  "signature",
  "account",
];

export const RECOGNISERS: readonly Recogniser[] = [
  // Headers that nobody else sets.
  { means: "blocked", says: WALL, on: ANY, in: { header: "cf-mitigated" }, stems: [], sign: ANYTHING },
  { means: "blocked", says: WALL, on: ANY, in: { header: "x-vercel-mitigated" }, stems: [], sign: ANYTHING },
  { means: "blocked", says: WALL, on: ANY, in: { header: "x-amzn-waf-action" }, stems: [], sign: ANYTHING },
  { means: "blocked", says: WALL, on: ANY, in: { header: "x-sucuri-block" }, stems: [], sign: ANYTHING },

  // Codes, made for machines.
  {
    means: "quota",
    says: SPENT,
    on: NOT_ABOUT_THE_REQUEST,
    in: "code",
    stems: MONEY_STEMS,
    sign: MONEY_SIGN,
  },
  {
    means: "quota",
    says: QUOTA,
    on: NOT_ABOUT_THE_REQUEST,
    in: "code",
    stems: QUOTA_STEMS,
    sign: QUOTA_SIGN,
    isLong: true,
  },
  {
    means: "quota",
    says: QUOTA,
    on: { not: [...ABOUT_THE_REQUEST, 429] },
    in: "code",
    stems: ["quota"],
    sign: /\bquota (?:\w+ )?(?:exceeded|exhausted|violation)\b/,
  },
  {
    means: "server_error",
    says: BUSY,
    on: { only: [429, 430] },
    in: "code",
    stems: ["overload", "capacity"],
    sign: /\b(?:server |engine |model )?overloaded\b|\bover ?capacity\b|\bno capacity\b/,
  },
  {
    means: "forbidden",
    says: RIGHT,
    on: { only: [200, 401] },
    in: "code",
    stems: RIGHT_STEMS,
    sign: NO_RIGHT,
  },
  {
    means: "forbidden",
    says: PLACE,
    on: { only: [400, 401, 403, 451] },
    in: "code",
    stems: PLACE_STEMS,
    sign: NOT_HERE,
  },
  {
    means: "rate",
    says: RATE,
    on: VAGUE,
    in: "code",
    stems: RATE_CODE_STEMS,
    sign: RATE_CODE,
    unless: /\b(?:invalid|missing|unknown|bad|unsupported|param|limiter)/,
  },
  {
    means: "rate",
    says: RATE,
    on: { only: [401] },
    in: "code",
    stems: RATE_CODE_STEMS,
    sign: RATE_CODE,
    unless: /\binvalid/,
  },
  { means: "unauthorized", says: KEY, on: VAGUE, in: "code", stems: KEY_CODE_STEMS, sign: KEY_CODE },
  {
    means: "unauthorized",
    says: KEY,
    on: { only: [400, 403] },
    in: { header: "www-authenticate" },
    stems: [],
    sign: /\berror="?invalid_token\b|"invalid_token"/,
  },
  { means: "quota", says: QUOTA, on: { only: [200] }, in: "code", stems: [], sign: /^over daily limit$/m },

  // Walls, by their pages. A wall also answers 200, 405, 502 and 999.
  { means: "blocked", says: WALL, on: ANY, in: "page", stems: WALL_PAGE, sign: ANYTHING },
  {
    means: "blocked",
    says: WALL,
    on: ANY,
    in: "page",
    stems: ["error code: 10", "reference"],
    // Cloudflare in plain text, and Akamai.
    sign: /^\s*error code: 10\d\d\s*$|reference(?: |&#32;)(?:#|&#35;)\d{1,3}(?:\.|&#46;)/,
  },

  // Words, last.
  {
    means: "quota",
    says: SPENT,
    on: NOT_ABOUT_THE_REQUEST,
    in: "words",
    stems: MONEY_STEMS,
    sign: MONEY_SIGN,
  },
  {
    means: "quota",
    says: QUOTA,
    on: NOT_ABOUT_THE_REQUEST,
    in: "words",
    stems: QUOTA_STEMS,
    sign: QUOTA_SIGN,
    isLong: true,
  },
  {
    means: "rate",
    says: RATE,
    on: VAGUE,
    in: "words",
    stems: [
      "limit",
      "many",
      "throttl",
      "slow",
      "too ",
      "rate",
      "abuse",
      "calm",
      "excessive",
      "per ",
      "请",
      "限",
      "速",
      "リ",
    ],
    sign: RATE_SIGN,
  },
  {
    means: "rate",
    says: RATE,
    on: { only: [401] },
    in: "words",
    stems: ["limit", "many"],
    sign: /\brate ?limit(?:ed|s)? (?:\w+ )?(?:exceeded|reached|hit)\b|\btoo many (?:\w+ )?requests\b/,
  },
  {
    means: "server_error",
    says: BUSY,
    on: { only: [429, 430] },
    in: "words",
    stems: ["overload", "capacity"],
    sign: /\b(?:server|engine|model|service|system|api)s? (?:\w+ ){0,3}?(?:overloaded|over capacity|at capacity)\b/,
  },
  {
    means: "forbidden",
    says: PLACE,
    on: { only: [400, 401, 403, 451] },
    in: "words",
    stems: PLACE_STEMS,
    sign: NOT_HERE,
  },
  {
    means: "forbidden",
    says: RIGHT,
    on: { only: [200, 401, 403] },
    in: "words",
    stems: RIGHT_STEMS,
    sign: NO_RIGHT,
  },
  {
    means: "unauthorized",
    says: KEY,
    on: { only: [200, 400, 403, 498, 500] },
    in: "words",
    stems: ["key", "token", "credential", "authenticat", "session", "account", "organi"],
    sign: KEY_SIGN,
  },
  {
    means: "blocked",
    says: WALL,
    on: { only: [403, 405, 406, 433, 444, 503] },
    in: "words",
    stems: [
      "waf",
      "blocked",
      "banned",
      "listed",
      "firewall",
      "security",
      "bot",
      "automated",
      "suspicious",
      "malicious",
      "captcha",
    ],
    sign: WALL_WORDS,
  },
  {
    means: "client_error",
    says: REQUEST,
    on: { only: [403] },
    in: "words",
    stems: ["user agent"],
    sign: /\b(?:missing|invalid|no|without)(?: \w+){0,3} user agent\b|\buser agent (?:\w+ )?(?:required|missing)\b/,
  },

  // Headers that hint.
  {
    means: "rate",
    says: RATE,
    on: { only: [403, 418, 420] },
    in: { header: "retry-after" },
    stems: [],
    sign: /[1-9]/,
  },
  {
    means: "rate",
    says: RATE,
    on: { only: [403] },
    in: { header: "x-ratelimit-remaining" },
    stems: [],
    sign: /^\s*0(?:\.0+)?\s*$/,
  },
  {
    means: "client_error",
    says: REQUEST,
    on: { only: [403] },
    in: "code",
    stems: [],
    sign: /^(?:invalid|bad) (?:request|argument|parameter)(?: error)?$/m,
  },
];

/** A wall that needs no proof of failure: looked for in an answer that is ok by its status. */
export const CERTAIN_WALL_HEADERS: ReadonlySet<string> = new Set(
  RECOGNISERS.flatMap((each) => (typeof each.in === "object" && each.on === ANY ? [each.in.header] : [])),
);

/** What a status means by itself. */
export const STATUS_MEANINGS: ReadonlyMap<number, { readonly means: RefusalMeaning; readonly says: string }> =
  new Map([
    [401, { means: "unauthorized", says: KEY }],
    [402, { means: "quota", says: "the quota is spent, or a payment is due" }],
    [403, { means: "forbidden", says: RIGHT }],
    [420, { means: "rate", says: RATE }],
    [429, { means: "rate", says: RATE }],
  ]);
