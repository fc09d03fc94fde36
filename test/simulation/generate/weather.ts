import type { Dice } from "./dice.ts";
import { HINTS, type Happening, type Setup, type Weather } from "../world/scenario.ts";

const KINDS: readonly Weather["kind"][] = [
  "throttle",
  "throttle",
  "throttle",
  "throttle",
  "busy",
  "exhausted",
  "lowered",
  "lowered",
  "status",
  "scarce",
  "garbled",
  "hang",
  "hang",
  "stuck",
  "lost",
  "refused",
  "reset",
  "cut",
  "slow",
  "bug",
];

type Storm = Pick<Extract<Happening, { kind: "weather" }>, "whom" | "forMs" | "weather">;

/** Over one upstream, or over all that one key is used for. */
export function drawWeather(setup: Setup, dice: Dice): Storm {
  const whom = dice.chance(0.5) ? dice.pick(setup.upstreams).name : dice.pick(setup.accounts).credential;
  const forMs = dice.pick([dice.between(0, 10_000), dice.between(0, 60_000), dice.between(0, 600_000)]);
  return { whom, forMs, weather: drawKind(dice) };
}

function drawKind(dice: Dice): Weather {
  const kind = dice.pick(KINDS);
  const seconds = dice.pick([1, 5, 30, 200]);
  switch (kind) {
    case "throttle":
      return {
        kind,
        status: dice.pick([402, 429, 429]),
        hint: dice.chance(0.4) ? "hostile" : dice.pick(HINTS),
        seconds,
      };
    case "busy":
    case "exhausted":
      return { kind, seconds };
    case "lowered":
      return { kind, part: dice.pick([0.1, 0.3, 0.5, 0.8, 1, 3]) };
    case "status":
      return { kind, status: dice.pick([204, 301, 401, 403, 404, 500, 502, 503]) };
    case "scarce":
    case "garbled":
    case "hang":
    case "stuck":
    case "lost":
    case "refused":
    case "reset":
    case "cut":
    case "slow":
    case "bug":
      return { kind };
    default:
      return kind satisfies never;
  }
}
