/** What a provider's own rate-limit header is about, read from its name. */
export type RateLimitField = {
  /** Fields of one family are about one limit. */
  readonly family: string;
  readonly part: FamilyPart;
  readonly perMs: number | undefined;
  /** The unit of a plain number, if it is a delay. */
  readonly unit: "s" | "ms";
};

const STEM = /^((?:x-)?(?:[a-z0-9]+-)?rate-?limit)(?:-([a-z-]+))?$/;

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const WINDOWS_MS: ReadonlyMap<string, number> = new Map([
  ["second", SECOND_MS],
  ["secondly", SECOND_MS],
  ["minute", MINUTE_MS],
  ["minutely", MINUTE_MS],
  ["hour", HOUR_MS],
  ["hourly", HOUR_MS],
  ["day", DAY_MS],
  ["daily", DAY_MS],
  ["week", 7 * DAY_MS],
  ["weekly", 7 * DAY_MS],
  ["month", 30 * DAY_MS],
  ["monthly", 30 * DAY_MS],
]);

const PARTS: ReadonlyMap<string, FamilyPart> = new Map([
  ["limit", "limit"],
  ["remaining", "remaining"],
  ["reset", "reset"],
  ["resettime", "reset"],
]);

const REQUEST_WORDS: ReadonlySet<string> = new Set(["requests", "request", "req"]);
const RESET_WORDS: ReadonlySet<string> = new Set(["after", "at", "in", "time"]);

/**
 * The words after `ratelimit` come in any order (`-limit-requests`, `-requests-limit`, `-remaining-minute`).
 * With an unknown word (`tokens`, `used`, `bucket`) the field is about something else: undefined. `X-Rate-Limit` alone
 * is a limit. `RateLimit` is the standard's field, read elsewhere.
 */
export function rateLimitFieldOf(name: string): RateLimitField | undefined {
  // Cheaper than the expression, for most headers.
  if (!name.includes("limit")) return undefined;
  const [, stem, words] = STEM.exec(name) ?? [];
  if (stem === undefined) return undefined;
  if (words === undefined && stem === "ratelimit") return undefined;
  let part: FamilyPart | undefined;
  let perMs: number | undefined;
  let unit: RateLimitField["unit"] = "s";
  let isAboutRequests = false;
  for (const word of (words ?? "limit").split("-")) {
    if (PARTS.has(word) && part === undefined) part = PARTS.get(word);
    else if (WINDOWS_MS.has(word) && perMs === undefined) perMs = WINDOWS_MS.get(word);
    else if (REQUEST_WORDS.has(word)) isAboutRequests = true;
    else if (word === "ms" && part === "reset") unit = "ms";
    else if (!(RESET_WORDS.has(word) && part === "reset")) return undefined;
  }
  if (part === undefined) return undefined;
  return { family: `${stem} ${isAboutRequests ? "requests" : ""} ${perMs ?? ""}`, part, perMs, unit };
}

export type FamilyPart = "limit" | "remaining" | "reset";
