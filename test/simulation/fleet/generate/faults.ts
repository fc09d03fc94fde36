import type { Dice } from "../../generate/dice.ts";
import type { Weather } from "../../world/scenario.ts";
import type { FleetHappening, FleetScenario } from "../scenario.ts";

export type FleetTemper =
  | "calm"
  | "crashing"
  | "stalling"
  | "frozen"
  | "cut-off"
  | "store-away"
  | "emptied"
  | "stepped"
  | "ambushed"
  | "everything";

/** Faults that are drawn one by one. */
type PlainTemper = Exclude<FleetTemper, "calm" | "frozen" | "ambushed">;

type Kind = FleetHappening["kind"];

const KINDS: Record<PlainTemper, readonly Kind[]> = {
  crashing: ["crash", "crash", "restart"],
  stalling: ["stall", "stall", "stall", "crash"],
  "cut-off": ["cut", "cut", "lossy", "slow", "stall"],
  "store-away": ["away", "away", "slow", "crash"],
  emptied: ["empty", "empty", "promote", "cut", "crash", "stall"],
  stepped: ["step", "step", "crash", "cut"],
  everything: [
    "weather",
    "weather",
    "crash",
    "restart",
    "stall",
    "cut",
    "away",
    "slow",
    "lossy",
    "empty",
    "promote",
    "step",
  ],
};

const STEPS_MS: readonly number[] = [-3_600_000, -7_000, -900, -200, 30, 200, 900, 7_000, 3_600_000];

export function drawFault(
  temper: PlainTemper,
  atMs: number,
  { setup, running }: Pick<FleetScenario, "setup" | "running">,
  dice: Dice,
): FleetHappening {
  const kind = dice.pick(KINDS[temper]);
  const replica = dice.whole(0, running - 1);
  switch (kind) {
    case "weather": {
      const whom = dice.chance(0.5) ? dice.pick(setup.upstreams).name : dice.pick(setup.accounts).credential;
      return { kind, atMs, whom, forMs: drawSpanMs(dice), weather: drawWeather(dice) };
    }
    case "crash":
      return {
        kind,
        atMs,
        replica,
        downMs: dice.pick([0, dice.between(0, 2_000), dice.between(0, 40_000)]),
        takesTheMachine: dice.chance(0.5),
        comesBackRenamed: dice.chance(0.3),
      };
    case "restart":
      return { kind, atMs, replica, downMs: dice.between(0, 5_000) };
    case "stall":
    case "cut":
      return { kind, atMs, replica, forMs: drawSpanMs(dice) };
    case "away":
      return { kind, atMs, forMs: drawSpanMs(dice), refuses: dice.chance(0.5) };
    case "slow":
    case "lossy":
      return { kind, atMs, forMs: drawSpanMs(dice) };
    case "empty":
      return { kind, atMs, restarts: dice.chance(0.5) };
    case "promote":
      return { kind, atMs, lostMs: dice.pick([0, dice.between(0, 100), dice.between(0, 5_000)]) };
    case "step":
      return { kind, atMs, byMs: dice.pick(STEPS_MS) };
    default:
      return kind satisfies never;
  }
}

function drawSpanMs(dice: Dice): number {
  return dice.pick([dice.between(0, 1_000), dice.between(0, 8_000), dice.between(0, 40_000)]);
}

function drawWeather(dice: Dice): Weather {
  const seconds = dice.pick([1, 5, 15]);
  return dice.pick<Weather>([
    { kind: "throttle", status: 429, hint: dice.pick(["none", "seconds", "garbage"]), seconds },
    { kind: "busy", seconds },
    { kind: "status", status: dice.pick([404, 500, 502]) },
    { kind: "hang" },
    { kind: "stuck" },
    { kind: "lost" },
    { kind: "refused" },
    { kind: "reset" },
    { kind: "slow" },
  ]);
}
