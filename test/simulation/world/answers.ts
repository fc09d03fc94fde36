import type { Exchange, Headers } from "../../../src/kernel/exchange/exchange.ts";
import { answered } from "../../support/kernel-samples.ts";
import type { Dice } from "../generate/dice.ts";
import type { Weather } from "./scenario.ts";
import type { Terms } from "./terms.ts";

/** What an answer asks of those who read it, known from how it was made, not from reading it. */
export type Words = {
  readonly pause?: {
    readonly scope: "budget" | "upstream";
    /** Undefined where it does not say: then at least one window is meant. */
    readonly forMs: number | undefined;
  };
  readonly limit?: { readonly requests: number; readonly perMs: number };
};

export type Answer = { readonly exchange: Exchange; readonly words: Words };

const SILENT: Words = {};
const FINE: Answer = { exchange: answered(200), words: SILENT };
const NOT_JSON: Answer = { exchange: answered(200, [], "<html>"), words: SILENT };

/** None of these says anything, however hard one looks. */
const GARBAGE = [
  "soon",
  "-5",
  "1e9x",
  "",
  "12 parsecs",
  '"',
  "NaN",
  "0x10",
  "\u0000",
  "tomorrow, or so",
  ";;;,,,",
];
const SIGNALS = ["retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-reset"];

const HOSTILE_SECONDS = 999_999_999;

export function fineAnswer(): Answer {
  return FINE;
}

/** A 200 as a talkative upstream gives it: plenty is left. */
export function talkativeAnswer({ rates }: Terms): Answer {
  const [rate] = rates;
  if (rate === undefined) return FINE;
  const policy = `"default";q=${rate.requests};w=${rate.perMs / 1_000}`;
  const left = `"default";r=${rate.requests};t=${rate.perMs / 1_000}`;
  const headers: Headers = [
    ["ratelimit-policy", policy],
    ["ratelimit", left],
  ];
  return { exchange: answered(200, headers), words: SILENT };
}

/** Undefined for weather that keeps an answer from coming at all. */
export function answerIn(weather: Weather, terms: Terms, wallMs: number, dice: Dice): Answer | undefined {
  switch (weather.kind) {
    case "throttle":
      return throttled(weather, wallMs, dice);
    case "busy":
      return {
        exchange: answered(503, [["retry-after", String(weather.seconds)]]),
        words: { pause: { scope: "upstream", forMs: weather.seconds * 1_000 } },
      };
    case "exhausted":
      return {
        exchange: answered(200, [["ratelimit", `"default";r=0;t=${weather.seconds}`]]),
        words: { pause: { scope: "budget", forMs: weather.seconds * 1_000 } },
      };
    case "lowered":
      return lowered(weather.part, terms, dice);
    case "scarce":
      return { exchange: answered(200, [["ratelimit", '"default";r=1;t=20']]), words: SILENT };
    case "garbled":
      return garbled(dice);
    case "status":
      return { exchange: answered(weather.status), words: SILENT };
    case "slow":
      return FINE;
    case "hang":
    case "stuck":
    case "lost":
    case "refused":
    case "reset":
    case "cut":
    case "bug":
      return undefined;
    default:
      return weather satisfies never;
  }
}

function throttled(
  { hint, seconds, status }: Extract<Weather, { kind: "throttle" }>,
  wallMs: number,
  dice: Dice,
): Answer {
  const refusal = (headers: Headers, forMs: number | undefined): Answer => ({
    exchange: answered(status, headers),
    words: { pause: { scope: "budget", forMs } },
  });
  switch (hint) {
    case "none":
      return refusal([], undefined);
    case "zero":
      return refusal([["retry-after", "0"]], undefined);
    case "garbage":
      return refusal([["retry-after", dice.pick(GARBAGE)]], undefined);
    case "seconds":
      return refusal([["retry-after", String(seconds)]], seconds * 1_000);
    case "date": {
      // The upstream's own clock is nobody's business: only the distance counts.
      const nowMs = Math.floor(wallMs / 1_000) * 1_000 + dice.whole(-600, 600) * 1_000;
      const headers: Headers = [
        ["date", httpDate(nowMs)],
        ["retry-after", httpDate(nowMs + seconds * 1_000)],
      ];
      return refusal(headers, seconds * 1_000);
    }
    case "rate_limit":
      return refusal([["ratelimit", `"default";r=0;t=${seconds}`]], seconds * 1_000);
    case "hostile":
      return refusal([["retry-after", String(HOSTILE_SECONDS)]], HOSTILE_SECONDS * 1_000);
    default:
      return hint satisfies never;
  }
}

function lowered(part: number, { rates }: Terms, dice: Dice): Answer {
  const rate = dice.pick(rates);
  const requests = Math.max(1, Math.floor(rate.requests * part));
  const headers: Headers = [["ratelimit-policy", `"default";q=${requests};w=${rate.perMs / 1_000}`]];
  return { exchange: answered(200, headers), words: { limit: { requests, perMs: rate.perMs } } };
}

function garbled(dice: Dice): Answer {
  if (dice.chance(0.2)) return NOT_JSON;
  const headers: Headers = SIGNALS.filter(() => dice.chance(0.6)).map((name) => [name, dice.pick(GARBAGE)]);
  return { exchange: answered(200, headers), words: SILENT };
}

function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString();
}
