import { Dice } from "../../generate/dice.ts";
import { ROADS } from "../../world/scenario.ts";
import { AMBUSHES, drawFleetAmbushes, FROZEN } from "./ambushes.ts";
import { drawFault, type FleetTemper } from "./faults.ts";
import { drawCredential, drawFleetSetup, drawRate } from "./setup.ts";
import {
  FLEET_STYLES,
  type FleetHappening,
  type FleetScenario,
  type FleetStyle,
  type FleetTerms,
} from "../scenario.ts";

export const FLEET_TEMPERS: readonly FleetTemper[] = [
  "calm",
  "crashing",
  "stalling",
  "frozen",
  "cut-off",
  "store-away",
  "emptied",
  "stepped",
  "ambushed",
  "ambushed",
  "everything",
  "everything",
];
/** Faults take the first part of the time; what is left shows that everything recovers. */
const FAULTY_PART = 0.8;
const TTLS_MS: readonly number[] = [5_000, 10_000, 10_000, 20_000];

/** Where something shows soonest. */
export type FleetBias = {
  readonly tempers?: readonly FleetTemper[];
  readonly mode?: FleetTerms["mode"];
  readonly reserves?: readonly number[];
  readonly style?: FleetStyle;
  readonly shares?: readonly number[];
  /** Owners count exactly, roads are quick, and one replica could use up everything: one request too many is noticed. */
  readonly isStrict?: boolean;
};

export function fleetScenarioOf(seed: string, lengthMs: number, bias: FleetBias = {}): FleetScenario {
  const dice = new Dice(`fleet ${seed}`);
  const temper = dice.pick(bias.tempers ?? FLEET_TEMPERS);
  const fleet: FleetTerms = {
    mode: bias.mode ?? dice.pick(["shard", "shard", "everywhere"]),
    replicas: dice.pick([1, 2, 2, 3, 3, 4]),
    reserve: dice.pick(bias.reserves ?? [0, 0, 0.2, 0.5]),
    ttlMs: dice.pick(TTLS_MS),
  };
  const ids = Array.from({ length: dice.pick([1, 1, 2]) }, (_, index) => `K${index + 1}`);
  const wayMs = dice.pick([1, 1, 5, 40]);
  const style = bias.style ?? dice.pick(FLEET_STYLES);
  const shares = bias.shares ?? [1, 1, 1, 0.5, 0.2];
  const isStrict = bias.isStrict ?? false;
  const scarcity = isStrict ? ([0.05, 0.2] as const) : ([0.2, 0.8] as const);
  const setup = drawFleetSetup(ids, fleet, { style, scarcity, wayMs, shares }, dice.fork("setup"));
  const roads = isStrict || temper === "calm" ? (["quick"] as const) : ROADS;
  const usual = dice.pick(roads);
  // One more than there may be has no seat, and so no reserve.
  const running = fleet.replicas + (dice.chance(0.2) && fleet.mode === "shard" ? 1 : 0);
  return {
    seed,
    fleet,
    running,
    credentials: ids.map((id) => ({
      ...drawCredential(id, dice.fork(`credential ${id}`)),
      ...(isStrict && { algorithm: "sliding_log" as const }),
    })),
    setup,
    roads: new Map(
      setup.upstreams.map(({ name }) => [name, dice.chance(0.7) || isStrict ? usual : dice.pick(ROADS)]),
    ),
    lagMs: dice.pick([0, 0, 2, 20]),
    wayMs,
    style,
    storeRate: drawRate(dice),
    happenings: drawHappenings(
      temper,
      FAULTY_PART * lengthMs,
      { setup, running, fleet },
      dice.fork("faults"),
    ),
    lengthMs,
  };
}

function drawHappenings(
  temper: FleetTemper,
  withinMs: number,
  around: Pick<FleetScenario, "setup" | "running" | "fleet">,
  dice: Dice,
): readonly FleetHappening[] {
  if (temper === "calm") return [];
  if (temper === "ambushed") return drawFleetAmbushes(withinMs, around, AMBUSHES, dice);
  if (temper === "frozen") return drawFleetAmbushes(withinMs, around, FROZEN, dice);
  const moments: number[] = [];
  const count = dice.whole(2, 12);
  for (let index = 0; index < count; index += 1) {
    const past = moments[index - 1];
    // Faults like company: every second one comes close behind another.
    const nearMs = dice.between(0, dice.pick([50, 1_000, around.fleet.ttlMs]));
    moments.push(past !== undefined && dice.chance(0.5) ? past + nearMs : dice.between(0, withinMs));
  }
  return moments.sort((a, b) => a - b).map((atMs) => drawFault(temper, atMs, around, dice));
}
