import { answerIn, fineAnswer, talkativeAnswer, type Answer } from "./answers.ts";
import type { Dice } from "../generate/dice.ts";
import type { Road, Weather } from "./scenario.ts";
import type { Terms } from "./terms.ts";

/** What will become of a request, decided when it is sent. Infinite where it never comes. */
export type Fate =
  | { readonly kind: "unsent"; readonly afterMs: number }
  | {
      readonly kind: "sent";
      readonly thereMs: number;
      readonly backMs: number;
      readonly ending: "answer" | "reset" | "cut" | "bug";
      readonly answer: Answer;
    };

type Sent = Extract<Fate, { kind: "sent" }>;

export type Circumstances = {
  readonly weather: Weather | undefined;
  readonly road: Road | "calm";
  readonly isTalkative: boolean;
  readonly timeoutMs: number;
  readonly terms: Terms;
  readonly wallMs: number;
};

const ENDLESS_MS = 86_400_000;

type Way = { readonly thereMs: number; readonly backMs: number };

export function fateOf(circumstances: Circumstances, dice: Dice): Fate {
  const { weather, timeoutMs, terms, wallMs, isTalkative } = circumstances;
  const way = wayOf(circumstances, dice);
  const usual = isTalkative ? talkativeAnswer(terms) : fineAnswer();
  const answer = (weather === undefined ? undefined : answerIn(weather, terms, wallMs, dice)) ?? usual;
  const sent: Sent = { kind: "sent", ...way, ending: "answer", answer };
  return weather === undefined ? sent : withWeather(sent, weather, timeoutMs, dice);
}

function withWeather(sent: Sent, { kind }: Weather, timeoutMs: number, dice: Dice): Fate {
  switch (kind) {
    case "refused":
      return { kind: "unsent", afterMs: dice.pick([0, dice.between(0, timeoutMs), timeoutMs]) };
    case "hang":
      return { ...sent, backMs: Infinity };
    case "stuck":
      return { ...sent, thereMs: ENDLESS_MS };
    case "lost":
      return { ...sent, thereMs: Infinity };
    case "slow":
      return { ...sent, backMs: dice.between(0, 2 * timeoutMs) };
    case "reset":
    case "cut":
    case "bug":
      return { ...sent, ending: kind };
    case "throttle":
    case "busy":
    case "exhausted":
    case "lowered":
    case "status":
    case "scarce":
    case "garbled":
      return sent;
    default:
      return kind satisfies never;
  }
}

function wayOf({ road, timeoutMs, terms }: Circumstances, dice: Dice): Way {
  const worstMs = timeoutMs + terms.lingerMs;
  switch (road) {
    case "calm": {
      const mostMs = Math.min(20, timeoutMs / 8, 0.005 * Math.min(...terms.rates.map(({ perMs }) => perMs)));
      return { thereMs: dice.between(0, mostMs), backMs: dice.between(0, mostMs) };
    }
    case "quick":
      return { thereMs: dice.between(0, 30), backMs: dice.between(0, 30) };
    case "jittery":
      return { thereMs: dice.between(0, 0.6 * timeoutMs), backMs: dice.between(0, 0.6 * timeoutMs) };
    case "wild":
      return {
        // Without end: as long as its socket is open, which a process that stands still does not close in time.
        thereMs: dice.pick([0, dice.between(0, timeoutMs), dice.between(0, worstMs), worstMs, ENDLESS_MS]),
        backMs: dice.pick([0, 0, dice.between(0, timeoutMs), Infinity]),
      };
    default:
      return road satisfies never;
  }
}
