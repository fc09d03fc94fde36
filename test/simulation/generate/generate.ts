import { Dice } from "./dice.ts";
import { drawAmbushes } from "./ambushes.ts";
import { Draft } from "./draft.ts";
import { credential, DARING_STYLES, setupOf, STYLES } from "./setup.ts";
import { drawWeather } from "./weather.ts";
import { ROADS, type Happening, type Road, type Scenario, type Setup } from "../world/scenario.ts";
import { termsOf } from "../world/terms.ts";

export const TEMPERS = [
  "calm",
  "stormy",
  "crashing",
  "looping",
  "editing",
  "editing",
  "stepping",
  "ambushed",
  "ambushed",
  "everything",
  "everything",
] as const;
export type Temper = (typeof TEMPERS)[number];
/** Faults take the first part of the time; what is left shows that everything recovers. */
const FAULTY_PART = 0.7;

export function scenarioOf(seed: string, lengthMs: number, tempers: readonly Temper[] = TEMPERS): Scenario {
  const dice = new Dice(seed);
  const ids = Array.from({ length: dice.pick([1, 1, 1, 2, 2, 3]) }, (_, index) => `K${index + 1}`);
  const temper = dice.pick(tempers);
  const styles = temper === "ambushed" ? DARING_STYLES : STYLES;
  const setup = setupOf(ids, styles, dice.fork("setup"));
  const happenings = drawHappenings(temper, setup, FAULTY_PART * lengthMs, dice.fork("happenings"));
  return {
    seed,
    credentials: ids.map((id) => credential(id, dice.fork(`credential ${id}`))),
    setup,
    roads: roadsOf(setup, happenings, temper === "ambushed" ? "quick" : dice.pick(ROADS), dice.fork("roads")),
    lagMs: dice.pick([0, 0, 2, 20]),
    happenings,
    lengthMs,
  };
}

function roadsOf(
  setup: Setup,
  happenings: readonly Happening[],
  usual: Road,
  dice: Dice,
): ReadonlyMap<string, Road> {
  const added = happenings.flatMap((happening) =>
    happening.kind === "reload" && happening.edit.kind === "add" ? [happening.edit.upstream] : [],
  );
  const names = [...setup.upstreams, ...added].map(({ name }) => name);
  return new Map(names.map((name) => [name, dice.chance(0.7) ? usual : dice.pick(ROADS)]));
}

function drawHappenings(temper: Temper, setup: Setup, withinMs: number, dice: Dice): readonly Happening[] {
  const moments = momentsOf(temper === "calm" ? 0 : dice.whole(2, 14), setup, withinMs, dice);
  const draft = new Draft(setup, dice);
  const happenings = moments.map((atMs) => drawHappening(temper, draft, atMs, dice));
  if (temper === "ambushed") happenings.push(...drawAmbushes(draft, withinMs, dice));
  const loops = temper === "looping" || (temper === "everything" && dice.chance(0.5));
  if (loops) happenings.push(...drawCrashLoop(draft.setup, dice.between(0, 0.5 * withinMs), withinMs, dice));
  return happenings.sort((a, b) => a.atMs - b.atMs);
}

/** Faults like company: every second one comes close behind another. */
function momentsOf(count: number, setup: Setup, withinMs: number, dice: Dice): number[] {
  const timeoutMs = dice.pick(setup.upstreams).timeoutMs;
  const moments: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const past = moments[index - 1];
    const near = past === undefined ? 0 : past + dice.between(0, dice.pick([50, timeoutMs, 5 * timeoutMs]));
    moments.push(past !== undefined && dice.chance(0.5) ? near : dice.between(0, withinMs));
  }
  return moments.sort((a, b) => a - b);
}

function drawHappening(temper: Temper, draft: Draft, atMs: number, dice: Dice): Happening {
  const kinds = {
    calm: ["stall"],
    stormy: ["weather", "weather", "weather", "stall"],
    crashing: ["crash", "crash", "restart", "stall"],
    looping: ["weather", "stall", "crash"],
    editing: ["reload", "reload", "reload", "stall", "weather", "crash"],
    ambushed: ["weather", "reload"],
    stepping: ["step", "step", "step", "suspend", "suspend", "stall", "crash"],
    everything: ["weather", "weather", "reload", "crash", "restart", "stall", "suspend", "step"],
  } as const;
  const kind = dice.pick<Happening["kind"]>(kinds[temper]);
  switch (kind) {
    case "weather":
      return { kind, atMs, ...drawWeather(draft.setup, dice) };
    case "crash":
      return { kind, atMs, downMs: drawDownMs(dice), takesTheMachine: dice.chance(0.5) };
    case "restart":
      return { kind, atMs, downMs: drawDownMs(dice) };
    case "stall":
    case "suspend":
      return {
        kind,
        atMs,
        forMs: dice.pick([dice.between(0, 500), dice.between(0, 5_000), dice.between(0, 90_000)]),
      };
    case "step":
      return {
        kind,
        atMs,
        byMs: dice.pick([-86_400_000, -3_600_000, -7_000, -400, 400, 7_000, 3_600_000, 86_400_000]),
      };
    case "reload":
      return { kind, atMs, edit: draft.edit() };
    default:
      return kind satisfies never;
  }
}

/** Short lives, one after the other: some of a few pace gaps, some that just outlive a cold start. */
function drawCrashLoop(setup: Setup, fromMs: number, withinMs: number, dice: Dice): Happening[] {
  const terms = termsOf(setup, dice.pick(setup.accounts).credential);
  if (terms === undefined) return [];
  const windowMs = Math.max(...terms.rates.map(({ perMs }) => perMs));
  const lifeMs = dice.pick([2 * terms.gapMs, 6 * terms.gapMs, 1.5 * (windowMs + terms.afterlifeMs)]);
  const takesTheMachine = dice.chance(0.5);
  const downMs = dice.pick([0, 0, 100, terms.gapMs]);
  const crashes: Happening[] = [];
  const count = dice.whole(3, 40);
  let atMs = fromMs;
  for (let index = 0; index < count; index += 1) {
    atMs += downMs + dice.between(0, lifeMs);
    if (atMs > withinMs) break;
    if (dice.chance(0.2))
      crashes.push({
        kind: "stall",
        atMs: atMs - dice.between(0, lifeMs / 2),
        forMs: dice.between(0, lifeMs),
      });
    crashes.push({ kind: "crash", atMs, downMs, takesTheMachine });
  }
  return crashes;
}

function drawDownMs(dice: Dice): number {
  return dice.pick([0, dice.between(0, 2_000), dice.between(0, 60_000)]);
}
