import { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS } from "../time/duration.ts";

/** What a header is about, read from the words of its name. No provider is known by name. */

export type FieldPart =
  | "limit"
  | "remaining"
  | "used"
  | "reset"
  /** How long the window is. */
  | "window"
  /** How many more are allowed in each second. */
  | "refill"
  /** Which of several limits the answer is about. */
  | "resource"
  /** A kind of limit: it may name a window or a unit, but it tells no two limits apart. */
  | "kind"
  /** How long the answer was held back: who does that counts work, not requests. */
  | "delay"
  | "policy"
  /** The name ends with `rate-limit`: a number, or a whole family in one value. */
  | "all"
  /** More words follow, and none of them is a part: only a whole family in one value is believed. */
  | "object";

export type LimitField = {
  readonly part: FieldPart;
  /** Fields of one family are about one limit. */
  readonly family: string;
  /** What is before `rate-limit`. */
  readonly prefix: string;
  /** What is counted: `requests`, or the word that says or hides it. */
  readonly unit: string;
  readonly perMs: number | undefined;
  /** The unit of a plain number, if it is a time. */
  readonly numberMs: number | undefined;
  /** The name alone does not prove that this is about requests in a time. */
  readonly isWeak: boolean;
  /** It says no more than that requests are counted. */
  readonly isPlain: boolean;
  readonly saysRequests: boolean;
};

function table<Value>(
  ...rows: readonly (readonly [words: string, value: Value])[]
): ReadonlyMap<string, Value> {
  return new Map(rows.flatMap(([words, value]) => words.split(" ").map((word) => [word, value] as const)));
}

const WINDOWS_MS: ReadonlyMap<string, number> = table(
  ["second seconds secondly sec secs s qps rps tps", SECOND_MS],
  ["minute minutes minutely min mins m qpm rpm", MINUTE_MS],
  ["hour hours hourly h hr hrs rph", HOUR_MS],
  ["day days daily d rpd", DAY_MS],
  ["week weeks weekly", 7 * DAY_MS],
  ["month months monthly", 30 * DAY_MS],
);

/** After `interval`, `window` or `reset`, these say how the number is written, not which window it is. */
const NUMBER_UNITS_MS: ReadonlyMap<string, number> = table(
  ["ms millis milliseconds millisecond", 1],
  ["seconds secs", SECOND_MS],
  ["minutes mins", MINUTE_MS],
);

const PARTS: ReadonlyMap<string, FieldPart> = table<FieldPart>(
  ["limit max maximum total allowed ceiling", "limit"],
  ["remaining remain left available", "remaining"],
  ["used usage count consumed", "used"],
  ["reset resets next until after expiry expires", "reset"],
  ["interval period window duration", "window"],
  ["replenish fillrate", "refill"],
  ["resource bucket name class category group model", "resource"],
  ["type scope reason", "kind"],
  ["delay", "delay"],
  ["policy", "policy"],
);

const REQUESTS: ReadonlySet<string> = new Set("requests request reqs req calls call".split(" "));

/** Kinds of requests: counted as requests, and each kind has a limit of its own. */
const KINDS_OF_REQUESTS: ReadonlySet<string> = new Set(
  "reads read writes write deletes delete search queries query get gets post-requests".split(" "),
);

const OTHER_UNITS: ReadonlySet<string> = new Set(
  (
    "tokens token credits credit points point bytes byte characters chars words complexity cost weight tstu tstus " +
    "units unit images image photos videos media messages message recipients recipient emails mail sms uploads " +
    "upload downloads post posts orders order errors error fails failures failed concurrent concurrency " +
    "connections time cpu runtime size bandwidth traffic percentage percent utilization compute neurons seats " +
    "storage rows records quota"
  ).split(" "),
);

/** Values of a resource that say that no requests are counted. */
const UNITS_OF_RESOURCES: ReadonlyMap<string, string> = table(
  ["graphql", "points"],
  ["azuredevops", "TSTU"],
  ["photos", "photos"],
  ["tokens", "tokens"],
  ["credits", "credits"],
  ["quota", "points"],
);

/** A name with one of these says something about limits that is none. */
const OTHER_MATTERS: ReadonlySet<string> = new Set(
  "near over requested retry cost problem tier source status claim observed utilization capacity burstcapacity enabled exceeded".split(
    " ",
  ),
);

/** They narrow down whose limit it is, and what is counted are requests all the same. */
const SCOPES: ReadonlySet<string> = new Set(
  (
    "user users app application client ip key api apikey account global team org organization organisation tenant " +
    "project member method route path endpoint subscription service shop plan plans burst steady sustained long " +
    "short hard soft free trial auth oauth authenticated unauthenticated access site store host domain workspace " +
    "rapid bucket session"
  ).split(" "),
);

const FILLERS: ReadonlySet<string> = new Set(
  "x per this current at in after for of by the timestamp ts info http renewal".split(" "),
);

/** Words that are written together with the one before them: `ratelimit`, `resettime`, `userremaining`, `minlimit`. */
const GLUED = "remaining remain resets reset policy limit time period bysize".split(" ");
/** Only before another of them: `readratelimit`, but not `generate-limit`. */
const GLUED_INSIDE = [...GLUED, ..."rate second minute min hour day month".split(" ")];

const AMOUNTS_OF_TIME: ReadonlySet<string> = new Set("seconds minutes hours days weeks months".split(" "));
const AMOUNT_OF_TIME = /^(\d{1,4})([a-z]+)$/;
const SEPARATORS = /[-._ /]+/;

/** `appday`: whose limit it is, and its window. */
const OWNER_AND_WINDOW = /^([a-z]{3,12})(second|minute|hour|day|month)$/;

function unglue(piece: string): readonly string[] {
  const [, owner, window] = OWNER_AND_WINDOW.exec(piece) ?? [];
  if (owner !== undefined && window !== undefined && SCOPES.has(owner)) return [owner, window];
  const words: string[] = [];
  let rest = piece;
  for (;;) {
    const known = PARTS.has(rest) || WINDOWS_MS.has(rest) || OTHER_UNITS.has(rest) || SCOPES.has(rest);
    const endings = words.length > 0 ? GLUED_INSIDE : GLUED;
    const ending = known
      ? undefined
      : endings.find((word) => rest.length > word.length && rest.endsWith(word));
    if (ending === undefined) break;
    words.unshift(ending === "bysize" ? "size" : ending);
    rest = rest.slice(0, -ending.length);
  }
  return [rest, ...words];
}

function windowMsOfWord(word: string): number | undefined {
  const named = word.length > 1 ? WINDOWS_MS.get(word) : undefined;
  if (named !== undefined) return named;
  const [, amount, unit] = AMOUNT_OF_TIME.exec(word) ?? [];
  const unitMs = unit === undefined ? undefined : WINDOWS_MS.get(unit);
  return unitMs === undefined || Number(amount) === 0 ? undefined : Number(amount) * unitMs;
}

const RATE_LIMIT = /rate[-._]?limit/;
const CAMEL = /(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9][A-Za-z]{3})(?=[A-Z])/;
const LONGEST_TEXT = 200;

/** The window that a text names: `minute`, `Daily-limit`, `HighCostGet30Min`. */
export function windowMsInText(text: string): number | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  for (const piece of text.split(SEPARATORS).flatMap((each) => each.split(CAMEL))) {
    const windowMs = windowMsOfWord(piece.toLowerCase());
    if (windowMs !== undefined) return windowMs;
  }
  return undefined;
}

/** The unit that the value of a resource gives away. */
export function unitInText(text: string): string | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  for (const piece of text.toLowerCase().split(SEPARATORS)) {
    const unit = UNITS_OF_RESOURCES.get(piece);
    if (unit !== undefined) return unit;
  }
  return undefined;
}

/** Where the name turns from whose limit it is to what is said about it. */
function stemOf(words: readonly string[]): {
  readonly before: number;
  readonly after: number;
  readonly isWeak: boolean;
} {
  for (let at = 1; at < words.length; at++) {
    if (words[at] === "limit" && words[at - 1] === "rate")
      return { before: at - 1, after: at + 1, isWeak: false };
  }
  const at = words.findIndex((word) => word === "limit" || word === "quota");
  if (at >= 0) return { before: at, after: at + 1, isWeak: true };
  const partAt = Math.max(0, words.findIndex(isSaid));
  return { before: partAt, after: partAt, isWeak: true };
}

function isSaid(word: string): boolean {
  return PARTS.has(word) || word === "status";
}

/** `limit` is the part only if no other word is: `hard-limit-remaining` is a remainder. */
function partAt(words: readonly string[], isWeak: boolean): { part: FieldPart; at: number } | undefined {
  let limitAt = -1;
  for (const [at, word] of words.entries()) {
    if (word === "status" && isWeak) return { part: "remaining", at };
    const part = PARTS.get(word);
    if (part === "limit" || (word === "quota" && !isWeak)) limitAt = at;
    else if (part !== undefined && !(word === "bucket" && at < words.length - 1)) return { part, at };
  }
  return limitAt < 0 ? undefined : { part: "limit", at: limitAt };
}

function read(name: string): LimitField | undefined {
  const words = name.split(/[-._]+/).flatMap(unglue);
  const { before, after, isWeak } = stemOf(words);
  const said = words.slice(after);
  const found = partAt(said, isWeak);
  // `x-remaining-trial-days`: an amount of time. `x-api-quota-request`: what this one request cost.
  if (
    isWeak &&
    (AMOUNTS_OF_TIME.has(words.at(-1) ?? "") || (found === undefined && said.includes("request")))
  )
    return undefined;
  // `x-ratelimit-daily`, `x-rate-limit`: without a part, the number is the limit.
  if (found !== undefined && found.part !== "policy" && said.includes("policy")) return undefined;
  const part: FieldPart | undefined = found?.part ?? (!isWeak ? "all" : after > before ? "limit" : undefined);
  if (part === undefined) return undefined;
  const isTime = part === "reset" || part === "window";
  let perMs: number | undefined;
  let numberMs: number | undefined;
  let saysRequests = false;
  let other: string | undefined;
  let unknown: string | undefined;
  /** Of whose limit it is, and of what is said about it. */
  const qualifiers: string[] = [];
  let isQualified = false;
  for (const [at, word] of words.entries()) {
    const isBefore = at < before;
    const isStem = at >= before && at < after;
    const saidAt = at - after;
    if (word === "" || FILLERS.has(word)) continue;
    if (isStem) {
      if (word === "quota") unknown ??= word;
      continue;
    }
    if (saidAt === found?.at) continue;
    if (OTHER_MATTERS.has(word)) return undefined;
    if (PARTS.get(word) === "limit") continue;
    if (part === "refill" && word === "rate") continue;
    const timeMs = isTime ? NUMBER_UNITS_MS.get(word) : undefined;
    if (timeMs !== undefined) numberMs = timeMs;
    else if (isTime && word === "time" && (saidAt === 0 || saidAt - 1 === found?.at)) continue;
    else if (windowMsOfWord(word) !== undefined && perMs === undefined) perMs = windowMsOfWord(word);
    else if (REQUESTS.has(word)) saysRequests = true;
    else {
      qualifiers.push(word);
      isQualified ||= !isBefore;
      // `api-token`: whose limit it is. `tokens`: what it counts.
      const isOwner = word === "token" && SCOPES.has(words[at - 1] ?? "");
      if (OTHER_UNITS.has(word) && !isOwner) other ??= word;
      else if (KINDS_OF_REQUESTS.has(word)) saysRequests ||= !isBefore;
      else if (!isBefore && !SCOPES.has(word) && !PARTS.has(word) && !isOwner) unknown ??= word;
    }
  }
  // As it is spelt: a proxy's `RateLimit` is not the origin's `X-RateLimit`.
  const [spelt] = isWeak ? [] : (RATE_LIMIT.exec(name) ?? []);
  const prefix =
    spelt === undefined
      ? words
          .slice(0, before)
          .filter((word) => word !== "x")
          .join("-")
      : name.slice(0, name.indexOf(spelt) + spelt.length);
  return {
    part: part !== "all" ? part : isQualified ? "object" : perMs === undefined ? "all" : "limit",
    family: `${prefix} ${saysRequests ? "requests" : ""} ${qualifiers.join("-")} ${perMs ?? ""}`,
    prefix,
    unit: other ?? (saysRequests ? "requests" : (unknown ?? "requests")),
    perMs,
    numberMs,
    isWeak,
    isPlain: perMs === undefined && !isQualified,
    saysRequests,
  };
}

/** Every name that is read has one of these in it; most headers have none. */
function mayBeLimit(name: string): boolean {
  return MAY_BE_LIMIT.test(name);
}

const LONGEST_NAME = 100;
const MAY_BE_LIMIT = /limit|remain|quota/;
const MOST_NAMES = 512;
/** Each name is read once. */
const names = new Map<string, LimitField | "none">();

export function limitFieldOf(name: string): LimitField | undefined {
  if (name.length > LONGEST_NAME || !mayBeLimit(name)) return undefined;
  const known = names.get(name);
  if (known !== undefined) return known === "none" ? undefined : known;
  const field = name.includes("retry") ? undefined : read(name);
  if (names.size >= MOST_NAMES) names.clear();
  names.set(name, field ?? "none");
  return field;
}
