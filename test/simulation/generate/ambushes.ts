import type { Dice } from "./dice.ts";
import type { Draft } from "./draft.ts";
import type { Happening } from "../world/scenario.ts";
import { termsOf } from "../world/terms.ts";

type Spot = {
  readonly atMs: number;
  readonly credential: string;
  readonly gapMs: number;
  readonly windowMs: number;
  readonly afterlifeMs: number;
};

/** Faults that only together could break something: each comes while the last one still has its effect. */
export function drawAmbushes(draft: Draft, withinMs: number, dice: Dice): readonly Happening[] {
  const ambushes: Happening[] = [];
  let atMs = 0;
  for (;;) {
    const { credential } = dice.pick(draft.setup.accounts);
    const terms = termsOf(draft.setup, credential);
    if (terms === undefined) return ambushes;
    const windowMs = Math.max(...terms.rates.map(({ perMs }) => perMs));
    atMs += (windowMs + terms.afterlifeMs) * dice.between(2, 5);
    if (atMs > withinMs) return ambushes;
    const { gapMs, afterlifeMs } = terms;
    const draw = dice.pick([stallThenCrash, editThenStall, renameAgainAndAgain]);
    const faults = draw({ atMs, credential, gapMs, windowMs, afterlifeMs }, draft, dice);
    ambushes.push(...faults);
    atMs = Math.max(atMs, ...faults.map((fault) => fault.atMs));
  }
}

/** Requests are open when the process stops; it goes on, sends, and dies. */
function stallThenCrash(spot: Spot, _draft: Draft, dice: Dice): readonly Happening[] {
  const { atMs, gapMs } = spot;
  const forMs = drawStallMs(spot, dice);
  const crashAtMs = atMs + forMs + dice.between(0, 2 * gapMs);
  const takesTheMachine = dice.chance(0.5);
  return [
    stuck(spot, atMs - drawWithinAfterlife(spot, dice), crashAtMs),
    { kind: "stall", atMs, forMs },
    { kind: "crash", atMs: crashAtMs, downMs: 0, takesTheMachine },
  ];
}

/** Requests are open at a reload, and stay open because the process stops. */
function editThenStall(spot: Spot, draft: Draft, dice: Dice): readonly Happening[] {
  const { atMs, credential } = spot;
  const edit = dice.chance(0.6) ? draft.rename(credential) : draft.edit();
  const stallAtMs = atMs + drawWithinAfterlife(spot, dice);
  return [
    stuck(spot, atMs - drawWithinAfterlife(spot, dice), stallAtMs),
    { kind: "reload", atMs, edit },
    { kind: "stall", atMs: stallAtMs, forMs: drawStallMs(spot, dice) },
  ];
}

/** Leases are held for as long as they can be, again and again, and somebody looks for a better name. */
function renameAgainAndAgain(spot: Spot, draft: Draft, dice: Dice): readonly Happening[] {
  const { credential, windowMs, afterlifeMs } = spot;
  const faults: Happening[] = [];
  let { atMs } = spot;
  for (let count = dice.whole(2, 8); count > 0; count -= 1) {
    const renameAtMs = atMs + afterlifeMs * dice.between(0, 1.5);
    faults.push(stuck(spot, atMs - windowMs, atMs));
    faults.push({ kind: "reload", atMs: renameAtMs, edit: draft.rename(credential) });
    atMs = renameAtMs + (windowMs + afterlifeMs) * dice.between(1, 3);
  }
  return faults;
}

function stuck({ credential }: Spot, fromMs: number, untilMs: number): Happening {
  const atMs = Math.max(0, fromMs);
  return { kind: "weather", atMs, whom: credential, forMs: untilMs - atMs, weather: { kind: "stuck" } };
}

function drawWithinAfterlife({ afterlifeMs }: Spot, dice: Dice): number {
  return afterlifeMs * dice.between(0, 1);
}

function drawStallMs({ windowMs, afterlifeMs }: Spot, dice: Dice): number {
  return dice.between(0, dice.pick([1, 3])) * (windowMs + afterlifeMs);
}
