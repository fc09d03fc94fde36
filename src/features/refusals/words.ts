/** Providers refuse by these words, in sets. A text is cut, once, into those of its words that are in one. */

import { remembered } from "../../platform/remembered.ts";

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
const NO_PLAN = "no_active_subscription no_active_plan";
const USED_UP =
  "used_up used_all ran_out run_out no_more_requests no_tokens_left 次数不足 次数已用完 次数用完";

/**
 * A word stands for itself and its plural, one with a star for all that begin so, and words joined by `_` for those words
 * one after another. All languages share the sets, so that no rule is about a language.
 */
const VOCABULARY = {
  funds: `
  allotment credit fund money balance budget prepayment allocation allowance wallet spend spending 余额 余量 餘額 额度 額度
  积分 点数 残高 クレジット ポイント 잔액 크레딧 포인트 средств* kredit* кредит* баланс* guthaben tegoed saldo krediet środki bakiye*
  crédit* crédito* credito crediti solde fondos fonds fundos fondi`,
  bill: `payment billing invoice bill ${OWES}`,
  due: `
  required be_enabled past_due due failed fail failure hard_limit inactive disabled error issue not_active
  not_enabled unpaid 失败 エラー 오류 ${OWES}`,
  plan: `plan trial subscription tier free ${NO_PLAN}`,
  quota: `
  quota allocation allowance allotment allotted insufficient_token quota_violation
  ${pairs("download transaction", "cap")} ${pairs("plan key account total bandwidth usage billing", "limit")}
  ${pairs("contact subscriber mailbox seat sending", "limit")}
  ${pairs("out_of", "api call request token search")} ${USED_UP}
  配额 额度 用量 可用次数 사용량 cuota kontingent tageskontingent monatskontingent квот*`,
  limit: `
  limit limited limitation ratelimit number_of threshold cap max maximum ceiling
  上限 限制 超限 限额 한도 허용량 límite limite limiet
  лимит* tageslimit monatslimit`,
  exceeded: `
  triggered exceed* exhaust* deplet* reached reach hit over surpass* quota_violation spent ${USED_UP} out_of consumed insuf*
  not_enough 不足 超 超出 超过 超過 达到 达 用完 用尽 用盡 耗尽 使い切 초과 소진 исчерпан* превыш*
  überschritten erreicht erschöpft aufgebraucht épuisé* agotad* esgotad* esaurit* dépassé* atteint*
  supera* excedid* alcanzad* atingid* raggiunt* overschreden`,
  little: `
  insuf* enough sufficient no have_any low too_few lack empty negative 0 zero need_more requires_more
  add_more purchase buy recharge expired 不足 不够 不夠 失败 부족 충분하지 недостаточно хватает reicht leer onvoldoende niewystarczające
  yetersiz* cukup`,
  calls: `
  request query queries call calls search searches lookup visit attempt tries api hits 请求 请求量 调用 调用量 访问 操作 次数 リクエスト
  リクエスト数 リクエスト回数 요청 anfragen solicitud* petic* intentos requêtes requisi* solicita* richieste запрос*
  verzoeken żądań istek* cầu permintaan`,
  rate: `
  rate ratelimit frequency freq speed throughput burst qps qpm cuqps rps tps rpm tpm concurren* 频率 频次 并发 流量 速率`,
  many: `
  many much too_high excessive over 频繁 頻繁 过快 过高
  が多すぎ 많 demasiad* trop viele muitas troppe слишком veel wiele fazla nhiều banyak`,
  throttled: `
  ratelimited rate_limited rate_limiting throttl* slow_down slowdown enhance_your_calm
  abuse_detection spike_arrest toomanyrequests rate_exceeded throughput_exceeded limit_control frequently_access flood 限流 流控 속도
  frequency_limit temporary_lockout ${pairs("banned blocked", "until till")}
  ${pairs("too", "fast frequent frequently often quickly rapidly")}`,
  long: `
  insufficient_quota daily weekly monthly annual yearly today ${pairs("per a each every this current last next past of_the for_the limited", "day week month year")}
  ${pairs("billing", "period cycle")}
  每日 每天 当日 当天 今天 今日 本日 每月 当月 本月 1日 一日 日次 月間 今月 일일 월간 하루 diari* diári* mensu* mensa* mensil* journali*
  quotidien* giornalier* дневн* суточн* месячн* tageslimit monatslimit tageskontingent monatskontingent`,
  short: `
  secondly minutely hourly rpm tpm rps qps per_sec per_min an_hour 每秒 每分钟 每小时
  ${pairs("per a each every this next last past current requests_in", "second minute hour")}
  ${pairs("second minute hour", "limit quota")}`,
  key: `
  key ak api_id appid appkey token credential sign signature secret password passwort mot_de_passe contraseña senha пароль* 密码 パスワード 비밀번호 令牌 凭证 密钥
  密鑰 秘钥 签名 トークン キー 키 토큰 توکن ключ* токен* schlüssel zugangsdaten klucz clé jeton clave chave chiave`,
  api_key: `
  api_key apikey appkey clé_d_api clé_api clave_de_api clave_api chiave_api chave_de_api chave_api access_key
  accesskey access_token accesstoken auth_token authentication_token authorization_token bearer_token
  api_token oauth_token security_token refresh_token subscription_key credential personal_access_token server_token
  authkey 令牌 密钥 密鑰 秘钥 인증키 ${NO_GRANT}`,
  signature: "request_signature signature_for_this_request sign_error 签名",
  account: `
  account user organization organisation developer client consumer session login`,
  bad: `
  deleted invalid illegal incorrect bad missing unknown expired revoked wrong disabled deactivated inactive ongeldig* geçersiz*
  suspend* ${pairs("key token app", "blocked is_blocked has_been_blocked")}
  malformed sign_error not_found no_token no_valid a_valid not_valid not_recognized not_correct required not_exist not_registered banned
  specified unrecognized unsuccessful provide provided supply supplied include contain pass specify send verify validate carry
  fornecid* proporcionad* ausente*
  有误 缺少 必传 无效 無效 失效 失敗 非法 입력 누락 نامعتبر 错误 錯誤 过期 過期 不正确 不存在 無効 不正 失败 期限 正しくありません 유효하지 만료 неверн* недействител* просроч*
  истек* истёк* ungültig* falsch* abgelaufen* nieprawidłowy invalid* manquant* expiré* incorrect* inválid* non_valido
  non_valida no_es_válida no_es_válido no_válida no_válido não_válida não_válido expirad* ${IS_NOBODY} ${NO_GRANT}`,
  closed: `
  deleted suspend* deactivat* closed terminat* disabled de_activated inactive not_active paused restricted banned expired ended
  is_over under_review cancel* ${NO_PLAN} ${pairs("account user", "blocked is_blocked has_been_blocked")}`,
  auth: `
  authentication authorization authorisation authorise authorize auth login log_in logon 登录 身份验证 认证 鉴权 認証 ${IS_NOBODY}`,
  bad_value: `
  ${pairs("invalid bad", "request argument parameter field value user_agent")}
  ${pairs("missing no without", "user_agent")} user_agent_required`,
  right: `
  scope permission privilege role entitlement have_access has_access access_to restricted data_action must_be_verified
  whitelist* allowlist* 权限 權限`,
  not: `
  not no never cannot cant doesnt dont isnt lack lacking insufficient missing without didnt restricted
  unauthorized must_be_verified 无 無 没有 不足`,
  allowed: "allowed permitted entitled authorized_to authorized_for",
  denied: "access_denied permission_denied permission_error forbidden",
  place: "country countries region territory location jurisdiction",
  unserved: `
  unsupported restricted not_supported not_available not_allowed not_permitted not_offered blocked unavailable`,
  blocked: `
  block blocked banned blacklist* denylist* reject* intercept* detected activity waf captcha_required 拦截 阻断 封禁
  заблокирован* gesperrt`,
  wall: `
  waf firewall captcha bot robot automated suspicious malicious unusual security ip traffic owner browser site website`,
  busy: `
  overload* over_capacity overcapacity at_capacity no_capacity out_of_capacity capacity_exceeded rejected_execution circuit_breaking busy
  saturated 饱和 过载 owner_has_reached`,
  a_value: `
  ${pairs("must_be", "a an at in less greater between positive numeric set one")} must_not_be failed_validation
  ${pairs("frame sample bit heart interest", "rate")} ${pairs("upload checkout game", "session")}
  ${pairs("validation", "error failed exception")} due_date time_limit execution_time in_request in_the_request
  wallet_address credit_note should_be should_not_be one_of is_required field batch max_entries entries_limit
  max_items number_of_items filesize amount parameter charged card transfer disk memory filesystem inode depth length size
  complexity context dimension resource_limit server_limit 长度 大小 字数 参数 文件`,
  elsewhere: `
  upstream provider database db backend origin proxy downstream vendor third_party smtp redis ldap gateway
  maintenance timeout timed_out unreachable circuit`,
};

export type SetName = keyof typeof VOCABULARY;

/** Chinese, Japanese and Korean have no spaces between words. */
const UNSPACED = /[\u3040-\u9fff\uac00-\ud7af]/;
const LONGEST_UNSPACED = 8;

const isSetName = (name: string): name is SetName => Object.hasOwn(VOCABULARY, name);

const ALL = Object.keys(VOCABULARY)
  .filter(isSetName)
  .flatMap((set) =>
    VOCABULARY[set]
      .trim()
      .split(/\s+/)
      .map((word) => ({ set, word })),
  );
const UNSPACED_WORDS = Map.groupBy(
  ALL.filter(({ word }) => UNSPACED.test(word)),
  ({ word }) => word,
);
const STEMS_BY_LETTER = Map.groupBy(
  ALL.filter(({ word }) => word.endsWith("*")).map(({ set, word }) => ({
    set,
    beginning: word.slice(0, -1),
  })),
  ({ beginning }) => beginning.charAt(0),
);

/** The sets of a word, and how it goes on as a phrase. */
type Entry = { readonly sets: SetName[]; next?: Map<string, Entry> };

const WORDS: Entry = { sets: [] };
for (const { set, word } of ALL) {
  for (const form of [word, `${word}s`]) entryOf(form.split("_")).sets.push(set);
}

function entryOf(phrase: readonly string[]): Entry {
  let entry = WORDS;
  for (const word of phrase) {
    // Few words go on, and an empty map takes 200 bytes.
    const next = entry.next?.get(word) ?? { sets: [] };
    (entry.next ??= new Map()).set(word, next);
    entry = next;
  }
  return entry;
}

/** A word, or several in a row, that are in at least one set. */
export type Found = {
  readonly sets: readonly SetName[];
  /** Which word of the text it is; the end of a sentence counts as many. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
};

export type Words = {
  readonly text: string;
  readonly found: readonly Found[];
  readonly sets: ReadonlySet<SetName>;
};

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
  let at = 0;
  let from = 0;
  for (const [index, word] of words.entries()) {
    at += word === SENTENCE_END ? BETWEEN_SENTENCES : 1;
    if (isUnspaced && UNSPACED.test(word)) at = findUnspaced(word, at, from, found);
    else {
      const { sets, length } = setsAt(words, index);
      if (sets.length > 0) found.push({ sets, at, from, to: from + length });
    }
    from += word.length + 1;
  }
  return { text, found, sets: new Set(found.flatMap(({ sets }) => sets)) };
});

/** All that begins here, from the single word to the longest phrase. */
function setsAt(
  words: readonly string[],
  index: number,
): { readonly sets: readonly SetName[]; readonly length: number } {
  const word = words[index] ?? "";
  const stems = STEMS_BY_LETTER.get(word.charAt(0)) ?? [];
  const sets = stems.flatMap(({ beginning, set }) => (word.startsWith(beginning) ? [set] : []));
  let length = word.length;
  let walked = word.length;
  let entry = WORDS.next?.get(word);
  for (let at = index + 1; entry !== undefined; at += 1) {
    if (entry.sets.length > 0) length = walked;
    sets.push(...entry.sets);
    const next = words[at] ?? "";
    walked += 1 + next.length;
    entry = entry.next?.get(next);
  }
  return { sets, length };
}

/** The longest of all that begin at one place counts. What is not known is passed over. Returns where it ends. */
function findUnspaced(text: string, firstAt: number, offset: number, found: Found[]): number {
  let at = firstAt;
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + LONGEST_UNSPACED);
    while (to > from && !UNSPACED_WORDS.has(text.slice(from, to))) to -= 1;
    const sets = UNSPACED_WORDS.get(text.slice(from, to))?.map(({ set }) => set);
    if (sets !== undefined) found.push({ sets, at: at++, from: offset + from, to: offset + to });
    from = Math.max(to, from + 1);
  }
  return at;
}

/** `InsufficientQuota`, `insufficient_quota` and "Insufficient quota" are the same two words. Sentences end in a `|`. */
export function plain(text: string): string {
  if (!/[^a-z ]/.test(text)) return text.trim();
  return /[^a-z_]/.test(text) ? spelledOut(text).trim() : text.replaceAll("_", " ");
}

/** Without addresses, and without the number of "60 requests in 5 minutes" and of "50 per 1 day". 24 hours are a day. "Used 5 of 5" is used up. */
function spelledOut(text: string): string {
  return (UNSPACED.test(text) ? text.replaceAll(/[A-Za-z]+/g, " $& ") : text)
    .replaceAll(/https?:\/\/\S*[^\s.!?;,)]|%20/g, " ")
    .replaceAll(/\bused (\d[\d,]{0,12}) of (?:your |the )?\1\b/gi, " used up ")
    .replaceAll(/['’]|(?<=\d)[.,](?=\d)/g, "")
    .replaceAll(/[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g, "$& ")
    .replaceAll(/\b24[ -]?h(?:ou)?rs?\b/gi, "day")
    .replaceAll(/\/ ?(?=(?:sec(?:ond)?|min(?:ute)?|hour|day|week|month)s?\b)/gi, " per ")
    .replaceAll(/\b(?:1 (?=(?:day|week|month)\b)|\d+ (?=(?:second|minute|hour)s?\b))/g, "")
    .replaceAll(/[.!?;]\s|[。！？；]/g, " | ")
    .replaceAll(/[^A-Za-z0-9|\u0080-\u2fff\u3040-\ufeff]+/g, " ")
    .toLowerCase();
}
