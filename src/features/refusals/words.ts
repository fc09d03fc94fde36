/** The words by which providers refuse, in sets; and a text cut, once, into those of its words that are in one. */

import { remembered } from "../../platform/remembered.ts";

/** A word of the vocabulary, and how it goes on as a phrase. */
type Entry = { sets: number; readonly next: Map<string, Entry> };

const WORDS = new Map<string, Entry>();
const STEMS: (readonly [beginning: string, set: number])[] = [];
/** Of Chinese, Japanese and Korean, which have no spaces between words. */
const UNSPACED_WORDS = new Map<string, number>();
const UNSPACED = /[\u3040-\u9fff\uac00-\ud7af]/;
const LONGEST_UNSPACED = 8;

/** One for each bit of a number that is and-ed: the next one would be the first again. */
const MOST_SETS = 32;
let sets = 0;

/**
 * A set is a bit. A word stands for itself and its plural, one with a star for all that begin so, and words joined by
 * `_` for those words one after another. All languages share the sets, so that no rule is about a language.
 */
function setOf(words: string): number {
  if (sets === MOST_SETS) throw new Error(`cannot add a set of words: there are ${MOST_SETS} bits`);
  const set = 1 << sets;
  sets += 1;
  for (const word of words.trim().split(/\s+/)) {
    if (UNSPACED.test(word)) UNSPACED_WORDS.set(word, (UNSPACED_WORDS.get(word) ?? 0) | set);
    else if (word.endsWith("*")) STEMS.push([word.slice(0, -1), set]);
    else for (const form of [word, `${word}s`]) entryOf(form.split("_")).sets |= set;
  }
  return set;
}

function entryOf(phrase: readonly string[]): Entry {
  let entry: Entry = { sets: 0, next: WORDS };
  for (const word of phrase) {
    const next = entry.next.get(word) ?? { sets: 0, next: new Map() };
    entry.next.set(word, next);
    entry = next;
  }
  return entry;
}

/** Each of the first before each of the second. */
function pairs(firsts: string, seconds: string): string {
  return firsts
    .split(" ")
    .flatMap((first) => seconds.split(" ").map((second) => `${first}_${second}`))
    .join(" ");
}

/** A word that tells alone stands in each of the sets of its rule. */
const OWES =
  "arrear arrearage overdue good_standing spending_limit spend_limit spending_cap spend_cap top_up 欠费 充值";
const IS_NOBODY =
  "unauthorized unauthenticated unauth not_authenticated not_authenticate not_logged_in not_authed please_authenticate please_login login_first not_login not_logined no_auth authentication_fails 请登录 重新登录 未登录";
/** RFC 6749, 5.2: what a token endpoint says with 400. */
const NO_GRANT = "invalid_grant invalid_client unauthorized_client";
const USED_UP = "used_up used_all ran_out run_out no_more_requests 次数不足 次数已用完 次数用完";

export const FUNDS: number = setOf(`
  allotment credit fund money balance budget prepayment allocation allowance wallet spend spending 余额 余量 餘額 额度 額度
  积分 点数 残高 クレジット ポイント 잔액 크레딧 포인트 средств* кредит* баланс* guthaben tegoed saldo krediet środki bakiye*
  crédit* crédito* credito crediti solde fondos fonds fundos fondi`);
export const BILL: number = setOf(`payment billing invoice bill ${OWES}`);
export const DUE: number = setOf(`
  required be_enabled past_due due failed fail failure hard_limit inactive disabled error issue not_active
  not_enabled unpaid 失败 エラー 오류 ${OWES}`);
export const PLAN: number = setOf("plan trial subscription tier free");
export const QUOTA: number = setOf(`
  quota allocation allowance allotment insufficient_token quota_violation
  ${pairs("download transaction", "cap")} ${pairs("plan key account total bandwidth usage", "limit")}
  ${pairs("out_of", "api call request token search")} ${USED_UP}
  配额 额度 用量 사용량 cuota kontingent tageskontingent monatskontingent квот*`);
export const LIMIT: number = setOf(`
  limit limited ratelimit number_of threshold cap max maximum ceiling 上限 限制 超限 限额 한도 허용량 límite limite limiet
  лимит* tageslimit monatslimit`);
export const EXCEEDED: number = setOf(`
  triggered exceed* exhaust* deplet* reached reach hit over surpass* quota_violation spent ${USED_UP} out_of consumed insuf*
  not_enough 超 超出 超过 超過 达到 达 用完 用尽 用盡 耗尽 使い切 초과 소진 исчерпан* превыш*
  überschritten erreicht erschöpft aufgebraucht épuisé* agotad* esgotad* esaurit* dépassé* atteint*
  supera* excedid* alcanzad* atingid* raggiunt* overschreden`);
export const LITTLE: number = setOf(`
  insuf* enough sufficient no have_any low too_few lack empty negative 0 zero need_more requires_more
  add_more purchase buy recharge expired 不足 不够 不夠 失败 부족 충분하지 недостаточно хватает reicht leer onvoldoende niewystarczające
  yetersiz* cukup`);
export const CALLS: number = setOf(`
  request query queries call calls search searches lookup visit attempt tries api hit 请求 请求量 调用 调用量 访问 操作 次数 リクエスト
  リクエスト数 リクエスト回数 요청 anfragen solicitud* petic* intentos requêtes requisi* solicita* richieste запрос*
  verzoeken żądań istek* cầu permintaan`);
export const RATE: number = setOf(`
  rate ratelimit frequency freq speed throughput burst qps qpm cuqps rps tps rpm tpm concurren* 频率 频次 并发 流量 速率`);
export const MANY: number = setOf(`
  many much too_high excessive over 频繁 頻繁 过快 过高
  が多すぎ 많 demasiad* trop viele muitas troppe слишком veel wiele fazla nhiều banyak`);
export const THROTTLED: number = setOf(`
  ratelimited rate_limited rate_limiting throttl* slow_down slowdown enhance_your_calm
  abuse_detection spike_arrest toomanyrequests rate_exceeded throughput_exceeded limit_control frequently_access flood 限流 流控 속도
  frequency_limit temporary_lockout ${pairs("banned blocked", "until till")}
  ${pairs("too", "fast frequent frequently often quickly rapidly")}`);
export const LONG: number = setOf(`
  insufficient_quota daily weekly monthly annual yearly today ${pairs("per a each every this of_the for_the limited", "day week month year")}
  ${pairs("billing", "period cycle")}
  每日 每天 当日 当天 今天 今日 本日 每月 当月 本月 1日 一日 日次 月間 今月 일일 월간 하루 diari* diári* mensu* mensa* mensil* journali*
  quotidien* giornalier* дневн* суточн* месячн* tageslimit monatslimit tageskontingent monatskontingent`);
export const SHORT: number = setOf(`
  secondly minutely hourly rpm tpm rps qps per_sec per_min an_hour 每秒 每分钟 每小时
  ${pairs("per a each every this next last past current requests_in", "second minute hour")}
  ${pairs("second minute hour", "limit quota")}`);
export const KEY: number = setOf(`
  key ak api_id appid appkey token credential sign signature secret password passwort mot_de_passe contraseña senha пароль* 密码 パスワード 비밀번호 令牌 凭证 密钥
  密鑰 秘钥 签名 トークン キー 키 토큰 توکن ключ* токен* schlüssel zugangsdaten klucz clé jeton clave chave chiave`);
export const API_KEY: number = setOf(`
  api_key apikey clé_d_api clé_api clave_de_api clave_api chiave_api chave_de_api chave_api access_key
  accesskey access_token accesstoken auth_token authentication_token authorization_token bearer_token
  api_token oauth_token security_token refresh_token subscription_key credential personal_access_token server_token
  authkey 令牌 密钥 密鑰 秘钥 인증키 ${NO_GRANT}`);
export const ACCOUNT: number = setOf(`
  account user organization organisation developer client consumer session login`);
export const BAD: number = setOf(`
  deleted invalid illegal incorrect bad missing unknown expired revoked wrong disabled deactivated inactive ongeldig* geçersiz*
  malformed not_found no_valid a_valid not_valid not_recognized not_correct required not_exist not_registered banned
  specified unrecognized unsuccessful provide provided supply supplied include contain pass specify send verify validate carry
  无效 無效 失效 失敗 非法 입력 누락 نامعتبر 错误 錯誤 过期 過期 不正确 不存在 無効 不正 失败 期限 正しくありません 유효하지 만료 неверн* недействител* просроч*
  истек* истёк* ungültig* falsch* abgelaufen* nieprawidłowy invalid* manquant* expiré* incorrect* inválid* non_valido
  non_valida no_es_válida no_es_válido no_válida no_válido não_válida não_válido expirad* ${IS_NOBODY} ${NO_GRANT}`);
export const CLOSED: number = setOf(`
  deleted suspend* deactivat* closed terminat* disabled de_activated inactive not_active paused restricted banned expired ended
  is_over cancel*`);
export const AUTH: number = setOf(`
  authentication authorization authorisation authorise authorize auth login log_in logon 登录 身份验证 认证 鉴权 認証 ${IS_NOBODY}`);
export const BAD_VALUE: number = setOf(`
  ${pairs("invalid bad", "request argument parameter field value user_agent")}
  ${pairs("missing no without", "user_agent")} user_agent_required`);
export const RIGHT: number = setOf(`
  scope permission privilege role entitlement have_access has_access access_to restricted data_action must_be_verified
  whitelist* allowlist* 权限 權限`);
export const NOT: number = setOf(`
  not no never cannot cant doesnt dont isnt lack lacking insufficient missing without didnt restricted
  unauthorized must_be_verified 无 無 没有 不足`);
export const ALLOWED: number = setOf("allowed permitted entitled authorized_to authorized_for");
export const DENIED: number = setOf("access_denied permission_denied forbidden");
export const PLACE: number = setOf("country countries region territory location jurisdiction");
export const UNSERVED: number = setOf(`
  unsupported restricted not_supported not_available not_allowed not_permitted not_offered blocked unavailable`);
export const BLOCKED: number = setOf(`
  block blocked banned blacklist* denylist* reject* intercept* detected activity waf captcha_required 拦截 阻断 封禁
  заблокирован* gesperrt`);
export const WALL: number = setOf(`
  waf firewall captcha bot robot automated suspicious malicious unusual security ip traffic owner browser site website`);
export const BUSY: number = setOf(`
  overload* over_capacity overcapacity at_capacity no_capacity capacity_exceeded rejected_execution circuit_breaking busy
  owner_has_reached`);
export const A_VALUE: number = setOf(`
  ${pairs("must_be", "a an at in less greater between positive numeric set one")} must_not_be failed_validation
  ${pairs("frame sample bit heart interest", "rate")} ${pairs("upload checkout game", "session")}
  ${pairs("validation", "error failed exception")} due_date time_limit execution_time in_request in_the_request
  wallet_address credit_note should_be should_not_be one_of is_required field batch max_entries entries_limit
  max_items number_of_items filesize amount parameter charged card transfer disk memory filesystem inode depth length size
  complexity context dimension resource_limit server_limit 长度 大小 字数 参数 文件`);
export const ELSEWHERE: number = setOf(`
  upstream provider database db backend origin proxy downstream vendor third_party smtp redis ldap gateway
  maintenance timeout timed_out unreachable circuit`);

const STEMS_BY_LETTER = Map.groupBy(STEMS, ([beginning]) => beginning.charAt(0));

/** A word, or several in a row, that are in at least one set. */
export type Found = {
  readonly sets: number;
  /** Which word of the text it is; the end of a sentence counts as many. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
};

export type Words = { readonly text: string; readonly found: readonly Found[]; readonly sets: number };

const SENTENCE_END = "|";
/** Words of two sentences are not near each other. */
export const BETWEEN_SENTENCES = 20;
const MOST_WORDS = 256;

/** An upstream sends the same names and codes each time. */
export const MOST_REMEMBERED = 256;

/** Each word is looked up as often as the longest phrase has words. */
export const cut: (sentence: string) => Words = remembered(MOST_REMEMBERED, (sentence) => {
  const text = plain(sentence);
  const words = text.split(" ", MOST_WORDS);
  const isUnspaced = UNSPACED.test(text);
  const found: Found[] = [];
  let sets = 0;
  let at = 0;
  let from = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    at += word === SENTENCE_END ? BETWEEN_SENTENCES : 1;
    if (isUnspaced && UNSPACED.test(word)) at = findUnspaced(word, at, from, found);
    else {
      const phrases = phrasesAt(words, index);
      const begins = stemsOf(word) | phrases.sets;
      const to = from + Math.max(word.length, phrases.length);
      if (begins !== 0) found.push({ sets: begins, at, from, to });
    }
    from += word.length + 1;
  }
  for (const each of found) sets |= each.sets;
  return { text, found, sets };
});

/** All that begins here, from the single word to the longest phrase. */
function phrasesAt(
  words: readonly string[],
  index: number,
): { readonly sets: number; readonly length: number } {
  const word = words[index] ?? "";
  let sets = 0;
  let length = 0;
  let walked = word.length;
  let entry = WORDS.get(word);
  for (let at = index + 1; entry !== undefined; at += 1) {
    if (entry.sets !== 0) length = walked;
    sets |= entry.sets;
    const next = words[at] ?? "";
    walked += 1 + next.length;
    entry = entry.next.get(next);
  }
  return { sets, length };
}

function stemsOf(word: string): number {
  const alike = STEMS_BY_LETTER.get(word.charAt(0)) ?? [];
  return alike.reduce((sets, [beginning, set]) => (word.startsWith(beginning) ? sets | set : sets), 0);
}

/** Of all that begin at one place, the longest counts. What is not known is passed over. Returns where it ends. */
function findUnspaced(text: string, firstAt: number, offset: number, found: Found[]): number {
  let at = firstAt;
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + LONGEST_UNSPACED);
    let sets = 0;
    for (; to > from && sets === 0; to -= 1) sets = UNSPACED_WORDS.get(text.slice(from, to)) ?? 0;
    if (sets !== 0) found.push({ sets, at: at++, from: offset + from, to: offset + to + 1 });
    from = to + 1;
  }
  return at;
}

/** `InsufficientQuota`, `insufficient_quota` and "Insufficient quota" are the same two words. Sentences end in a `|`. */
export function plain(text: string): string {
  if (!/[^a-z ]/.test(text)) return text.trim();
  return /[^a-z_]/.test(text) ? spelledOut(text).trim() : text.replaceAll("_", " ");
}

/** Without addresses, and without the number of "60 requests in 5 minutes" and of "50 per 1 day". "Used 5 of 5" is used up. */
function spelledOut(text: string): string {
  return (UNSPACED.test(text) ? text.replaceAll(/[A-Za-z]+/g, " $& ") : text)
    .replaceAll(/https?:\/\/\S*[^\s.!?;,)]|%20/g, " ")
    .replaceAll(/\bused (\d[\d,]{0,12}) of (?:your |the )?\1\b/gi, " used up ")
    .replaceAll(/['’]|(?<=\d)[.,](?=\d)/g, "")
    .replaceAll(/[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g, "$& ")
    .replaceAll(/\/ ?(?=(?:sec(?:ond)?|min(?:ute)?|hour|day|week|month)s?\b)/gi, " per ")
    .replaceAll(/\b(?:1 (?=(?:day|week|month)\b)|\d+ (?=(?:second|minute|hour)s?\b))/g, "")
    .replaceAll(/[.!?;]\s|[。！？；]/g, " | ")
    .replaceAll(/[^A-Za-z0-9|\u0080-\u2fff\u3040-\ufeff]+/g, " ")
    .toLowerCase();
}
