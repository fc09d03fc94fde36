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
  /** Of the line where the sign stands. */
  readonly unless?: RegExp;
  /** Of all codes and words. */
  readonly unlessAnywhere?: RegExp;
  /** Of a limit that lasts a day or longer: one that speaks of minutes or seconds, and of no day, is a rate. */
  readonly isLong?: boolean;
};

const ANY: Statuses = {};
/** What was asked for is not there, or not as it should be: such an answer speaks of the request. */
const ABOUT_THE_REQUEST = [404, 410, 413, 414, 415, 422];
const NOT_ABOUT_THE_REQUEST: Statuses = { not: ABOUT_THE_REQUEST };
/** Without a meaning of its own, or with one that providers get wrong. */
const VAGUE: Statuses = { not: [...ABOUT_THE_REQUEST, 401, 402, 429] };

/** Trouble behind a gateway, of which it may quote any code: told of somebody else's key, and not of ours. */
const BEHIND_A_GATEWAY = [502, 503, 504, ...Array.from({ length: 11 }, (_, index) => 520 + index)];
/** Of a 500 too much is about something behind it; only few use it where they should say 4xx. */
const MAY_BE_ABOUT_OUR_KEY: Statuses = { not: [...(VAGUE.not ?? []), 500, ...BEHIND_A_GATEWAY] };
/** With which walls refuse, apart from 503. What a firewall's product adds to a page of any other status is an advertisement. */
const REFUSING = [401, 403, 405, 406, 412, 418, 429, 433, 444, 999];

/** gRPC answers with 200, and some gateways with 400. */
const GRPC: Statuses = { only: [200, 400] };

/** Where its stem is the whole sign. */
export const ANYTHING: RegExp = /./;

const WALL = "a firewall or bot protection blocked us";
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
  "(?:exceeded|exhausted|depleted|reach(?:ed)?|used up|spent|hit|violation|violated|surpassed|over|ran out|run out)";
/** What is limited where we ask too often. */
const OFTEN =
  "(?:rate|request|query|call|api|access|frequency|freq|speed|throughput|[qrt]ps|concurren\\w{1,3})";
const SHORT_PERIOD = "(?:second|minute|minutely|hour|hourly)";
/** Said of one minute, even credits are a rate. */
const OF_THIS_MOMENT = /\b(?:current|this|next) (?:second|minute|hour)\b|\bhourly\b/;
/** What a value has to be: the sentence lists names, and none of them has happened. */
const ABOUT_AN_AMOUNT = /\bamount exceeds?\b|\b(?:transfer|withdrawal|order|card) limit\b/;
const ABOUT_A_VALUE = /\bmust (?:be|have)\b|\bone of\b|\b(?:in|per) (?:(?:a|one|the|this|each) )?batch\b/;
/** The same, in a form that no word about money has: "payment is required" is no fault of a field. */
const OF_A_FIELD =
  /\b(?:must|should)(?: not)? be (?:an?|one|greater|less|more|at|between|in|positive|non|no|either|unique|of|set|provided|specified|lower|higher|negative|null|empty|zero|numeric)\b|\b(?:limit|budget|balance|quota|allowance|plan|amount)(?: field)? is (?:a )?required\b/;
/** Not of the account, but of the machine that answers. */
const OF_A_DISK = /\b(?:disk|file ?system|memory|inodes?) quota\b/;
/** A key of an object, and not one that opens anything. */
const OF_A_MEMBER =
  /\bunknown keys? \w|(?<!api |access |subscription )\bkey in (?:the )?(?:request|body|object|json|payload)\b|\bkey \w+ (?:is )?not allowed\b/;
const NO_DEBT = new RegExp([OF_THIS_MOMENT, OF_A_FIELD].map(({ source }) => source).join("|"));
const NO_QUOTA = new RegExp([ABOUT_AN_AMOUNT, OF_A_FIELD, OF_A_DISK].map(({ source }) => source).join("|"));
/** A 500 that quotes what somebody else told it. */
const OF_SOMEBODY_ELSE =
  /\b(?:upstream|provider|database|db|backend|origin|downstream|vendor|third party|smtp|redis|ldap)\b/;
/** A page that says that the server behind it is away. */
const OUTAGE =
  /\bgateway\b|\btimed? ?out\b|\borigin\b|\bback ?end\b|\bupstream\b|\bmaintenance\b|\bproxy failed\b|\b(?:failed|unable) to connect\b|\b(?:could|can)(?: ?not|nt) (?:reach|connect)\b|\bunreachable\b|\bnot responding\b|\bcircuit breaker\b/;
const API_KEY =
  "(?:api ?keys?|access keys?(?: id)?|access ?tokens?|api ?tokens?|auth(?:entication|orization)? ?tokens?|bearer tokens?|oauth tokens?|security tokens?|subscription keys?|credentials|authentication credentials|personal access tokens?)";
const BAD =
  "(?:invalid|incorrect|bad|missing|unknown|expired|revoked|wrong|disabled|deactivated|inactive|malformed)";

const BAD_KEY = new RegExp(
  `\\b${BAD} ${API_KEY}\\b|\\b${API_KEY} (?:is|was|has|has been) (?:not valid|${BAD})\\b`,
);
/** "Not authorized to do this without a valid API key". */
const OF_A_BAD_KEY = new RegExp(`\\b(?:valid|${BAD}) ${API_KEY}\\b`);

/** Of how long a limit lasts. */
export const LONG: RegExp =
  /\b(?:per|a|each|every|this|of the) (?:day|week|month|year)\b|\/ ?(?:day|week|month|year)\b|\b(?:daily|weekly|monthly|yearly|today)\b/;
export const SHORT: RegExp =
  /\b(?:per|each|every) (?:\d{1,4} )?(?:second|minute|hour|min|sec)s?\b|\/ ?(?:second|minute|hour|min|sec)\b|\ba (?:second|minute|hour)\b|\b(?:second|minute|minutely|hour) (?:limit|quota)s?\b|\b(?:rpm|tpm|rps|qps)\b|\b(?:current|this|next) (?:second|minute|hour)\b|\bhourly\b/;

const MONEY_SIGN = new RegExp(
  [
    `\\b(?:insufficient|not enough|out of|no|low|too few|lack of) (?:\\w+ ){0,3}${MONEY}\\b`,
    `(?:\\bnot|nt) have (?:any|enough|sufficient) (?:\\w+ ){0,2}${MONEY}\\b`,
    "\\binsufficient (?:\\w+ ){0,2}quota\\b",
    "\\bcredits? (?:\\w+ ){0,3}expired\\b|\\btop up (?:your|the) (?:\\w+ ){0,2}(?:balance|account|credits?|wallet)\\b",
    `\\b${MONEY} (?:\\w+ ){0,3}(?:${GONE}|too low|insufficient|empty|negative)\\b`,
    `(?:\\b(?:exceeded|exhausted|depleted|used up|used all|spent|run out of|ran out of|consumed all|requires more|need more|add more)|(?<![\\d.,$])0)(?: \\w+){0,4} ${MONEY}\\b`,
    "\\bspend(?:ing)? (?:limit|cap)\\b",
    "\\barrears?\\b|\\barrearage\\b|\\bpayment (?:is )?(?:required|overdue|past due|failed)\\b|\\bunpaid (?:bill|invoice|balance)\\b|\\bin good standing\\b",
    "\\bbilling (?:\\w+ )?(?:hard limit|not active|inactive|disabled|error|issue|required|not enabled)\\b|\\b(?:invoice|account) (?:is )?(?:overdue|past due)\\b",
    "\\b(?:trial|subscription|plan)(?: \\w+){0,3} (?:expired|has ended|is over)\\b",
    "(?:余额|余量|餘額|额度|額度|积分|点数|残高|クレジット|ポイント)[^。，]{0,8}(?:不足|不够|不夠|用完|用尽|用盡|耗尽|失败)|欠费|额度已|充值|(?:잔액|크레딧|포인트)[^.]{0,4}(?:부족|소진|충분하지)",
    "(?:недостаточно|не хватает) (?:средств|кредитов)|(?:средства|кредиты|баланс) (?:\\S+ )?исчерпан|guthaben (?:\\S+ ){0,3}(?:reicht|aufgebraucht|erschöpft|leer)|onvoldoende (?:tegoed|saldo|krediet)|niewystarczające środki|yetersiz bakiye|bakiye\\S* yetersiz",
    "(?:cr[eé]dit\\S{0,2}|solde|saldo|fondos|fonds|fundos|fondi) (?:\\S+ ){0,2}(?:insuff?i[cs]\\S+|épuisée?s?|agotad[oa]s?|esgotad[oa]s?|esaurit[oi]|tidak (?:men)?cukup)",
  ].join("|"),
);

/** Of a day or longer. */
const LONG_QUOTA = [
  `\\b${LONG_PERIOD} (?:\\w+ ){0,4}(?:limits?|quotas?|allowance|allocation|caps?|usage|requests|volume|cost|count)\\b`,
  "\\blimited (?:per )?(?:day|month)\\b",
  "\\b(?:limits?|quotas?|allowance|maximum|allowed)(?: [\\w,.]+){0,6} (?:per|a|each|every|/) ?(?:day|week|month|year)\\b",
  "\\b(?:limits?|quotas?|maximum|allowed|requests|calls|queries)(?: [\\w,.]+){0,5} (?:today|(?:for |of )?this (?:day|week|month|year))\\b",
  "\\b(?:requests|calls|queries|units|tokens|credits) (?:per|a|/) ?(?:day|week|month)\\b",
  "\\bper (?:day|month|week) per\\b",
];
const LONG_QUOTA_SIGN = new RegExp(LONG_QUOTA.join("|"));

const QUOTA_SIGN = new RegExp(
  [
    `\\bquotas? (?:\\w+ ){0,5}?${GONE}\\b`,
    `\\b(?:exceed(?:ed|s)?|exhausted|reached|out of|over|used up|hit|depleted)(?: \\w+){0,4} (?:quota|usage limits?|usage cap|plans? limits?)\\b`,
    `\\b(?:usage|plan)s? (?:\\w+ ){0,2}(?:limits?|caps?) (?:\\w+ ){0,3}?${GONE}\\b`,
    "\\b(?:ran|run) out of (?:\\w+ ){0,3}(?:searches|requests|calls|queries|lookups|units|tokens|messages)\\b",
    ...LONG_QUOTA,
    "\\bbandwidth limit exceeded\\b|\\b(?:key|plan|account|total) limit (?:is |has been )?(?:exceeded|reached)\\b",
    "\\b(?:exceeded|reached|hit)(?: \\w+){0,4} (?<!rate )limits? (?:of|for|on|in) (?:your|their|its|the|this) (?:\\w+ ){0,2}(?:plan|subscription)\\b",
    "\\bused (?:up )?all (?:of )?(?:your|the) (?:\\w+ ){0,3}(?:calls|requests|searches|queries|lookups|tokens|messages)\\b",
    `\\bfree (?:tier|plan|trial|quota|requests)(?: \\w+){0,8} (?:exceeded|exhausted|depleted|used up|reached|ended|expired)\\b`,
    "配额(?:已|不足|超)|(?:每日|每天|当日|今日|本日|每月|当月|本月)[^。]{0,12}(?:上限|超|用完|用尽|不足)|超[出过過][^。]{0,6}(?:每日|每天|当日|今日|每月|当月|本月)|(?:1日|一日|日次|月間|今月)[^。]{0,16}(?:上限|超過|使い切)|(?:일일|월간|하루)[^.]{0,12}(?:허용량|초과|소진)",
    "cuota (?:diaria|mensual)|(?:tages|monats)(?:limit|kontingent|quote)|kontingent (?:\\S+ ){0,2}(?:überschritten|erschöpft|aufgebraucht)|l[ií]mite (?:diári[oa]|diari[oa]|mensua?l|journali[eè]re?|mensuelle|quotidien\\S{0,2}|giornalier[oa]|mensile)|quota (?:journalier|quotidien|mensuel)|лимит (?:\\S+ ){0,2}исчерпан|(?:дневн|суточн|месячн)\\S+ (?:лимит|квот)",
  ].join("|"),
);

const RATE_SIGN = new RegExp(
  [
    "\\brate ?limit(?:s|ed|ing)? (?:\\w+ ){0,4}?(?:exceed|error|triggered|exceeding)\\b",
    `\\b${OFTEN} ?(?:limits?|threshold) (?:\\w+ ){0,4}?${GONE}\\b`,
    `\\b(?:exceed(?:ed|s|ing)?|reach(?:ed)?|hit|over|out of|surpassed)(?: \\w+){0,4} (?:${OFTEN}|usage) ?(?:limits?|threshold)\\b`,
    `\\b(?:per )?${SHORT_PERIOD} (?:\\w+ ){0,2}(?:limits?|quotas?|allocation) (?:[\\w,.]+ ){0,8}?${GONE}\\b`,
    `\\b${GONE}(?: \\w+){0,4} (?:per )?${SHORT_PERIOD} (?:\\w+ ){0,2}(?:limits?|quotas?|allocation|cap)\\b`,
    `\\b${OFTEN}s? (?:\\w+ ){0,3}exceed(?:s|ed|ing)? (?:the |its |your )?(?:allowed |maximum |rate |request )?limit\\b`,
    "[qrt]ps (?:\\w+ ){0,3}(?:exceeded|limit)\\b|\\bexceed(?:ed|s)? (?:\\w+ )?\\d+ [qrt]p[sm]\\b|\\b(?:frequency|freq) (?:\\w+ ){0,2}limit(?:s|ed)?\\b",
    "\\brate ?limited\\b|\\btoo ?many (?:\\w+ ){0,2}?(?:requests|api calls|calls|queries|visits|hits|attempts)\\b|\\btoomanyrequests\\b",
    "\\btoo many \\w+ in the (?:last|past) (?:second|minute|hour)\\b|\\b(?:maximum|max) (?:number of )?concurrent \\w+ (?:exceeded|reached)\\b",
    "\\b(?:was|been|is|being|get|got|are|request) throttled\\b|\\b(?:api|request) throttling\\b|^throttling\\b|\\bslow ?down\\b|\\brequests? (?:rate )?(?:is |are )?too (?:large|high|fast|frequent(?:ly)?|often|quickly|rapidly)\\b|\\b(?:request|access|call|query) (?:frequency|rate) (?:is )?too (?:high|fast)\\b",
    "\\brate exceeded\\b|\\breduce your request rate\\b|\\bexceeded (?:the )?(?:\\w+ )?number of (?:\\w+ ){0,2}(?:times|requests|calls|queries)\\b",
    "\\babuse detection\\b|\\btoo much request weight\\b|\\benhance your calm\\b|\\bexcessive (?:\\w+ )?(?:requests|rate)\\b|\\bover (?:query|request) (?:limit|rate)\\b",
    "\\b(?:requests|calls|queries) ?(?:per|/|in|within|every|each) ?(?:\\d{1,4} |an? )?(?:second|minute|hour)s?\\b",
    "[过太](?:于)?频繁|請求過於頻繁|请求频率|限流|速率限制|(?:频率|频次|次数|并发|流量|请求量|调用量)[^。]{0,12}(?:超|上限|过高|过快|限制)|超[出过][^。]{0,8}qps|リクエスト(?:数)?が多すぎ|リクエスト(?:回数|数)の上限|너무 많은 요청|요청[^.]{0,6}많|속도 ?제한",
    "demasiad[oa]s (?:solicitudes|peticiones|intentos)|trop de (?:requêtes|tentatives)|zu viele (?:anfragen|versuche)|muitas (?:solicitações|requisições)|troppe richieste|слишком много запросов|превышен лимит запросов|te veel (?:verzoeken|aanvragen)|zbyt wiele (?:żądań|zapytań)|çok fazla istek|quá nhiều yêu cầu|terlalu banyak permintaan",
  ].join("|"),
  "m",
);

const RATE_CODE =
  /\brate ?limit(?:s|ed|ing)?\b|\brate exceeded\b|\btoo ?many ?requests\b|\bthrottl(?:ed|ing)\b|\bthrottle\b|\bslow ?down\b|\b(?:request|query|call|concurrency|api|access|frequency) ?limit ?(?:exceeded|reached)\b|\bover (?:query|request|qps) (?:limit|rate)\b|\b(?:over|exceeded) (?:the )?(?:qps|rate|tps|rps)$|\bthroughput exceeded\b|\b(?:hourly|burst|minute|second) (?:\w+ ){0,2}limit (?:exceeded|reached)\b|\b(?:calls?|requests?|access|flow|traffic|frequency) limited\b|\blimited by (?:\w+ ){0,3}(?:count|rate|frequency)\b|\btoo many (?:visits|calls|queries|hits|attempts)\b|\b(?:access|request|call) frequency limit$|qps (?:has )?exceeded\b|qps (?:\w+ ){0,3}limit\b|^(?:http )?429$/m;

const KEY_CODE =
  /\b(?:invalid|expired|revoked|missing|bad|unknown|incorrect|inactive|disabled|blocked|unrecognized) (?:api |access |auth |my |user |app )?(?:keys?|credentials?|auth|authentication)\b|\b(?:invalid|expired|inactive|disabled|blocked) (?:client|session|login)\b|(?:^|\b(?:api|access|auth|secret|license|subscription) ?)key (?:id )?(?:is )?(?:invalid|expired|missing|required|revoked|disabled|inactive|blocked|not found|not valid)\b|\b(?:invalid|expired|revoked|missing) (?:access |auth |authentication |security |bearer |api |o auth |oauth |session )?token(?: id)?(?: exception| error)?$|\btoken (?:is )?(?:invalid|expired|revoked|missing|required|inactive|not found|not valid|blocked)\b|\bunauth(?:orized|enticated)?$|^unauth|\bauthentication (?:error|failed|failure|required|exception)\b|\bauthori[sz]ation (?:failed|failure)\b|\b(?:inactive|suspended|disabled|deactivated|closed) (?:\w+ )?account\b|\bdeveloper inactive\b|\borgani[sz]ation restricted\b|\binvalid auth\b|\bnot authed\b|\bauth (?:error|failed|failure|required)\b|\bsignature (?:does )?not match\b|\bsignature invalid\b|\binvalid (?:session|signature)(?: id)?\b|\baccount (?:inactive|deactivated|suspended|disabled|closed)\b|\bno auth\b|\bexpired ?token\b|\bexpired signature\b/m;

const KEY_SIGN = new RegExp(
  [
    `\\b(?:${BAD}|no|no valid|not a valid)(?: \\w+){0,3} ${API_KEY}\\b`,
    `\\b${API_KEY} (?:\\w+ ){0,6}?(?:not valid|not found|not provided|not recogni[sz]ed|required|does not exist|${BAD})\\b`,
    "(?:^|\\b(?:api|access|auth|secret|license|subscription|account|your|the|this|provided|given) )key (?:is |was |has been )?(?:invalid|expired|revoked|not valid|required|missing)\\b",
    "\\bauthentication (?:fails|failed|required|is required|not found)\\b|\\bnot authenticated\\b|\\bplease authenticate\\b|\\bvalidating access token\\b|\\bsession (?:has |is )?expired\\b",
    "\\b(?:account|organi[sz]ation) (?:\\w+ ){0,6}?(?:deactivated|closed|terminated|suspended|disabled)\\b|\\borgani[sz]ation (?:is |has been )restricted\\b",
    "\\binvalid token or\\b|\\bauthentication parameters? (?:is |are )?missing\\b|\\blogin fail(?:ed|ure)?\\b",
    `\\b(?:must|please|need to|have to) (?:provide|supply|include|have|pass|specify|send|set)(?: \\w+){0,3} ${API_KEY}\\b`,
    `\\b(?:did not|didnt|does not|doesnt) (?:include|provide|contain|supply|send)(?: \\w+){0,3} ${API_KEY}\\b`,
    `\\b(?:could not|couldnt|cannot|cant|unable to|failed to) (?:verify|validate|authenticate|recogni[sz]e)(?: \\w+){0,2} ${API_KEY}\\b`,
    `\\b${API_KEY} (?:\\w+ ){0,4}?not correct\\b`,
    "(?:令牌|密钥|密鑰|秘钥|token|api ?key|签名|身份验证|认证|鉴权)[^。，]{0,6}(?:无效|無效|失效|错误|錯誤|过期|過期|不正确|不存在|失败)|无效的? ?(?:令牌|密钥|token|api)",
    "(?:api ?キー|トークン|認証)[^。]{0,6}(?:無効|失敗|不正|期限|正しくありません)|유효하지 않은[^.]{0,8}(?:키|토큰)|(?:키|토큰)[^.]{0,4}(?:유효하지|만료)|неверн\\S+ (?:api )?(?:ключ|токен)|недействительн\\S+ (?:api )?(?:ключ|токен)",
    "(?:ungültige|falsche|abgelaufene)[rns]? (?:api )?(?:schlüssel|token|zugangsdaten)|nieprawidłowy (?:klucz|token)|\\b(?:clé|jeton|clave|chave|chiave|token)(?: \\S+){0,3} (?:invalide|manquante?|expirée?|incorrecte?|non valid[eao]|n[oã]o válid[oa]|inválid[oa]|no (?:es )?válid[oa])|(?:schlüssel|token) (?:\\S+ )?(?:ungültig|abgelaufen)|(?:ключ|токен) (?:\\S+ )?(?:недействител|неверн|просроч|истек|истёк)",
  ].join("|"),
  "m",
);

/** "Denied" alone: on a 401 it only says again that we are not known. */
const DENIED = /\b(?:permission|access) denied\b/;
const NO_RIGHT =
  /\binsufficient (?:\w+ ){0,2}(?:scopes?|permissions?|privileges?|rights|access|role)\b|\bmissing (?:\w+ ){0,2}(?:scopes?|permissions?|privileges?)\b|\brestricted (?:api )?key\b|\bkey (?:is )?restricted\b|\brestricted to only\b|\bnot (?:authorized|allowed|permitted|entitled) (?:to|for)\b|\b(?:does not|doesnt|do not|dont|lacks?) (?:\w+ ){0,3}(?:permissions?|scopes?|privileges?|access(?! tokens?| keys?)|rights)\b|\black(?:s|ing)? the required\b|\baccess restricted\b|\bno permission\b/;

const NOT_HERE =
  /\b(?:country|region|territory|location)(?:\w| or | and |,){0,20} (?:\w+ ){0,3}?(?:not supported|unsupported|not available|restricted|not allowed|blocked|not permitted)\b|\bunsupported (?:country|region|location|territory)\b|\b(?:restricted|unsupported) (?:location|country|region|jurisdiction)\b|\bnot (?:available|supported|allowed|offered|served) (?:in|from) (?:your|this) (?:country|region|location|territory|jurisdiction)\b/;

/** What only the pages of walls say, in lower case: on any status. */
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
  // F5, DataDome, HUMAN, Radware
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
  "generated by wordfence",
  "request forbidden by administrative rules",
  "our systems have detected unusual traffic",
  "may be sending automated queries",
  "application firewall alert",
  "verify you are human",
  "verify that you are human",
  "are you a robot",
  "solve this captcha",
  "bot manager captcha",
  "enable javascript and cookies to continue",
  "we're verifying your browser",
  "making sure you're not a bot",
  "<title>web page blocked",
];

/** Products that also make the page of an outage, or are only mentioned. */
const WALL_NAMES: readonly string[] = [
  "incapsula incident id",
  "_incapsula_resource",
  "sucuri website firewall",
  "mod_security",
  "webknight",
  "errors.aliyun.com",
  "fortiguard",
  "fortiweb",
  "barracuda networks",
  "ddos-guard",
  "ddos protection by",
  "stackpath",
  "qrator",
  "web application firewall",
];

const WALL_WORDS =
  /\bwaf\b|\b(?:request|access|traffic|connection|ip(?: address)?) (?:\w+ ){0,12}?(?:blocked|banned|blacklisted|denylisted)\b|\b(?:site|website) owner (?:\w+ ){0,3}(?:blocked|banned)\b|\brequested url was rejected\b|\bblocked by (?:\w+ ){0,3}(?:firewall|security|waf|policy|rule)\b|\b(?:firewall|security) (?:\w+ ){0,2}(?:blocked|rejected|denied)\b|\b(?:bot|automated|suspicious|malicious) (?:\w+ ){0,2}(?:detected|traffic|activity|requests?)\b|\b(?:solve|complete|pass|enter)(?: \w+){0,4} captcha\b|\bcaptcha (?:\w+ )?(?:required|challenge|needed)\b|\b(?:this|web) (?:site|page) (?:\w+ ){0,3}blocked\b|被拦截|阻断|封禁|заблокирован|(?:adresse|zugriff|zugang) (?:\S+ ){0,2}gesperrt/;

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
  ..."余 餘 欠 额 額 积 点 充 残 クレ ポイ 잔 크레 포인 недост хватает средств кредит баланс".split(" "),
  ..."saldo solde guthaben crédit fondos fonds fondi tegoed krediet środki bakiye".split(" "),
  "top up",
];
const QUOTA_STEMS = [
  ..."quota limit daily weekly monthly day month week year free".split(" "),
  "used all",
  "run out",
  "ran out",
  ..."配 每 当 今 本 超 日 月 일 월 하루 cuota kontingent límite лимит квот".split(" "),
];
const FOREIGN_RATE_STEMS =
  "请 請 限 速 频 次 上 リ 너 속 요청 solicit petic intentos requêtes tentatives anfragen versuche requisi richieste запрос veel zbyt fazla nhiều terlalu".split(
    " ",
  );
const RIGHT_STEMS = [
  "insufficient",
  "missing",
  "restricted",
  "not ",
  "doesnt",
  "dont",
  "lack",
  "no permission",
];
const PLACE_STEMS = ["country", "region", "territory", "location", "jurisdiction"];
const RATE_CODE_STEMS = ["limit", "exceeded", "many", "throttl", "slow", "over ", "429"];
const KEY_STEMS = [
  ..."key token credential authenticat session account organi login".split(" "),
  ..."令牌 密钥 密鑰 秘钥 签名 验证 认证 鉴权 キー トークン 認証 키 토큰 ключ токен".split(" "),
  ..."schlüssel zugangsdaten klucz clé jeton clave chave chiave".split(" "),
];
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
  "developer",
  "organi",
];

/** A wall may also answer 503, unless the page says that the server behind it is away. */
function alsoOn503(recogniser: Recogniser): readonly Recogniser[] {
  return [recogniser, { ...recogniser, on: { only: [503] }, unlessAnywhere: OUTAGE }];
}

export const RECOGNISERS: readonly Recogniser[] = [
  // Headers that nobody else sets.
  { means: "blocked", says: WALL, on: ANY, in: { header: "cf-mitigated" }, stems: [], sign: ANYTHING },
  { means: "blocked", says: WALL, on: ANY, in: { header: "x-vercel-mitigated" }, stems: [], sign: ANYTHING },
  { means: "blocked", says: WALL, on: ANY, in: { header: "x-amzn-waf-action" }, stems: [], sign: ANYTHING },
  { means: "blocked", says: WALL, on: ANY, in: { header: "x-sucuri-block" }, stems: [], sign: ANYTHING },
  {
    means: "blocked",
    says: WALL,
    on: { only: [400, 401, 403, 405, 406, 451] },
    in: "page",
    stems: ["cloudflare_error"],
    sign: /"cloudflare_error"\s{0,9}:\s{0,9}true/,
  },

  // Codes, made for machines.
  {
    means: "quota",
    says: SPENT,
    on: NOT_ABOUT_THE_REQUEST,
    in: "code",
    stems: MONEY_STEMS,
    sign: MONEY_SIGN,
    unless: NO_DEBT,
  },
  {
    means: "quota",
    says: QUOTA,
    on: NOT_ABOUT_THE_REQUEST,
    in: "code",
    stems: QUOTA_STEMS,
    sign: QUOTA_SIGN,
    unless: NO_QUOTA,
    isLong: true,
  },
  {
    means: "quota",
    says: QUOTA,
    on: { not: [404, 410, 413, 414, 415, 429] },
    in: "code",
    stems: ["quota"],
    sign: /\bquota (?:\w+ )?(?:exceeded|exhausted|violation|reached)\b/,
    unless: NO_QUOTA,
    isLong: true,
  },
  {
    means: "server_error",
    says: BUSY,
    on: { only: [200, 429, 430, 498] },
    in: "code",
    stems: ["overload", "capacity"],
    sign: /\b(?:server |engine |model )?overloaded\b|\bover ?capacity\b|\bno capacity\b|\bcapacity exceeded\b/,
  },
  {
    means: "blocked",
    says: WALL,
    on: { only: [403, 429, 503] },
    in: "code",
    stems: ["banned", "blocked", "detected"],
    sign: /\b(?:signature|browser|ip(?: address)?) (?:\w+ ){0,3}(?:banned|blocked)\b|\bbot detected\b/,
  },
  {
    means: "forbidden",
    says: RIGHT,
    on: { only: [200, 401, 403] },
    in: "code",
    stems: RIGHT_STEMS,
    sign: NO_RIGHT,
    unless: OF_A_BAD_KEY,
  },
  {
    // More than a code says that only denies.
    means: "unauthorized",
    says: KEY,
    on: { only: [403] },
    in: "words",
    stems: ["key", "token", "credential"],
    sign: BAD_KEY,
    unless: /\b(?:scopes?|permissions?|privileges?|roles?|not (?:authorized|allowed|permitted))\b/,
  },
  { means: "forbidden", says: RIGHT, on: { only: [200, 403] }, in: "code", stems: ["denied"], sign: DENIED },
  {
    means: "forbidden",
    says: PLACE,
    on: { only: [400, 401, 403, 451] },
    in: "code",
    stems: PLACE_STEMS,
    sign: NOT_HERE,
  },
  {
    // A code of throttling, and words of a day: no minute helps.
    means: "quota",
    says: QUOTA,
    on: { only: [200, 400, 403, 420] },
    in: "words",
    stems: QUOTA_STEMS,
    sign: LONG_QUOTA_SIGN,
    unless: NO_QUOTA,
    unlessAnywhere: SHORT,
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
  {
    means: "rate",
    says: RATE,
    on: { only: [200, 401, 403] },
    in: "code",
    stems: ["limit"],
    sign: /^(?:the )?limit (?:is |was |has been )?(?:exceeded|reach(?:ed)?)$/m,
  },
  {
    means: "unauthorized",
    says: KEY,
    on: MAY_BE_ABOUT_OUR_KEY,
    in: "code",
    stems: KEY_CODE_STEMS,
    sign: KEY_CODE,
    unlessAnywhere: OF_A_MEMBER,
  },
  {
    means: "unauthorized",
    says: KEY,
    on: { only: [500] },
    in: "code",
    stems: ["key", "token"],
    sign: /\b(?:invalid|expired|revoked) (?:api |access )?(?:key|token)\b/,
    unlessAnywhere: OF_SOMEBODY_ELSE,
  },
  {
    means: "unauthorized",
    says: KEY,
    on: { only: [404] },
    in: "code",
    stems: ["invalid"],
    sign: /\binvalid (?:api|access) ?key\b/,
  },
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
  ...alsoOn503({
    means: "blocked",
    says: WALL,
    on: { only: REFUSING },
    in: "page",
    stems: WALL_NAMES,
    sign: ANYTHING,
  }),
  {
    // Elsewhere, such a name may be an advertisement.
    means: "blocked",
    says: WALL,
    on: { only: [200] },
    in: "page",
    stems: WALL_NAMES,
    sign: /\b(?:blocked|denied|rejected|refused)\b|incapsula/,
  },
  ...alsoOn503({
    means: "blocked",
    says: WALL,
    on: { only: [403, 405, 429] },
    in: "page",
    stems: ["captcha", "turnstile"],
    // The script of a captcha, by its address.
    sign: /[\w.]\/\w{0,20}captcha\w{0,20}[/.]|\bhcaptcha\.com\/|\bcloudflare\.com\/turnstile\b/,
  }),
  {
    means: "blocked",
    says: WALL,
    on: { only: [200, 400, 401, 403, 405, 406, 418, 429] },
    in: "page",
    stems: ["error code: 10"],
    // Cloudflare in plain text. With a 530 it says that what is behind it cannot be found.
    sign: /^\s*error code: 10\d\d\s*$/,
  },
  {
    means: "blocked",
    says: WALL,
    on: { only: [401, 403, 405, 406, 418, 429] },
    in: "page",
    stems: ["errors.edgesuite.net", "reference"],
    // Akamai puts its reference on the page of every error.
    sign: /errors\.edgesuite\.net|reference(?: |&#32;)(?:#|&#35;)\d{1,3}(?:\.|&#46;)[\da-f]{1,16}(?:\.|&#46;)\d/,
  },

  // Words, last.
  {
    means: "unauthorized",
    says: KEY,
    on: { only: [401] },
    in: "words",
    stems: ["key", "token", "credential"],
    sign: BAD_KEY,
  },
  {
    means: "quota",
    says: SPENT,
    on: NOT_ABOUT_THE_REQUEST,
    in: "words",
    stems: MONEY_STEMS,
    sign: MONEY_SIGN,
    unless: NO_DEBT,
  },
  {
    means: "quota",
    says: SPENT,
    on: { only: [422] },
    in: "words",
    stems: ["credits"],
    sign: /\b(?:ran|run) out of (?:\w+ )?credits\b|\b(?:insufficient|not enough) (?:\w+ )?credits\b/,
  },
  {
    means: "quota",
    says: QUOTA,
    on: NOT_ABOUT_THE_REQUEST,
    in: "words",
    stems: QUOTA_STEMS,
    sign: QUOTA_SIGN,
    unless: NO_QUOTA,
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
      "exceed",
      "per ",
      "qps",
      "freq",
      ...FOREIGN_RATE_STEMS,
    ],
    sign: RATE_SIGN,
    unless: ABOUT_A_VALUE,
  },
  {
    means: "rate",
    says: RATE,
    on: { only: [401] },
    in: "words",
    stems: ["limit", "many"],
    sign: /\b(?:rate|request|query|call|api) ?limit(?:ed|s)? (?:\w+ )?(?:exceeded|reached|hit)\b|\btoo many (?:\w+ )?requests\b|^limit reach(?:ed)?\b/m,
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
  ...alsoOn503({
    means: "blocked",
    says: WALL,
    on: { only: [403, 405, 406, 418, 433, 444] },
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
      "owner",
      "rejected",
      "拦",
      "阻",
      "заблок",
      "封",
      "gesperrt",
    ],
    sign: WALL_WORDS,
  }),
  {
    means: "forbidden",
    says: RIGHT,
    on: { only: [200, 401, 403] },
    in: "words",
    stems: RIGHT_STEMS,
    sign: NO_RIGHT,
    unless: OF_A_BAD_KEY,
  },
  { means: "forbidden", says: RIGHT, on: { only: [200, 403] }, in: "words", stems: ["denied"], sign: DENIED },
  {
    means: "unauthorized",
    says: KEY,
    on: { only: [200, 400, 403, 498] },
    in: "words",
    stems: KEY_STEMS,
    sign: KEY_SIGN,
    unless: /\bhas not (?:expired|been)\b/,
  },
  {
    means: "unauthorized",
    says: KEY,
    on: { only: [500] },
    in: "words",
    stems: ["key", "token"],
    sign: BAD_KEY,
    unlessAnywhere: OF_SOMEBODY_ELSE,
  },
  {
    means: "client_error",
    says: REQUEST,
    on: { only: [403] },
    in: "words",
    stems: ["user agent"],
    sign: /\b(?:missing|invalid|no|without)(?: \w+){0,3} user agent\b|\buser agent (?:\w+ )?(?:required|missing)\b/,
  },

  // What gRPC says: its own status, beside one of HTTP that tells nothing.
  { means: "rate", says: RATE, on: GRPC, in: { header: "grpc-status" }, stems: [], sign: /^8$/ },
  { means: "unauthorized", says: KEY, on: GRPC, in: { header: "grpc-status" }, stems: [], sign: /^16$/ },
  { means: "forbidden", says: RIGHT, on: GRPC, in: { header: "grpc-status" }, stems: [], sign: /^7$/ },
  { means: "server_error", says: BUSY, on: GRPC, in: { header: "grpc-status" }, stems: [], sign: /^14$/ },

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
    [498, { means: "unauthorized", says: KEY }],
    [402, { means: "quota", says: "the quota is spent, or a payment is due" }],
    [403, { means: "forbidden", says: RIGHT }],
    [420, { means: "rate", says: RATE }],
    [429, { means: "rate", says: RATE }],
  ]);
