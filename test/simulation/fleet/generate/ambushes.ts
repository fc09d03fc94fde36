import type { Dice } from "../../generate/dice.ts";
import type { FleetHappening, FleetScenario } from "../scenario.ts";

type Around = Pick<FleetScenario, "running" | "fleet" | "setup">;
type Spot = {
  readonly atMs: number;
  readonly replica: number;
  readonly running: number;
  readonly ttlMs: number;
  readonly forgottenMs: number;
};
export type Ambush = (spot: Spot, dice: Dice) => readonly FleetHappening[];

/** Faults that only together could break something: each comes while the last one still has its effect. */
export function drawFleetAmbushes(
  withinMs: number,
  around: Around,
  ambushes: readonly Ambush[],
  dice: Dice,
): readonly FleetHappening[] {
  const { setup, fleet, running } = around;
  const windowMs = Math.max(
    ...setup.accounts.flatMap(({ budget }) => budget.rates.map(({ perMs }) => perMs)),
  );
  const timeoutMs = Math.max(...setup.upstreams.map((upstream) => upstream.timeoutMs));
  const lingerMs = Math.max(...setup.accounts.map(({ budget }) => budget.lingerMs));
  const forgottenMs = windowMs + 3 * timeoutMs + lingerMs + 1_000;
  const happenings: FleetHappening[] = [];
  let atMs = 0;
  for (;;) {
    atMs += dice.between(0.5, 3) * Math.max(fleet.ttlMs, forgottenMs);
    if (atMs > withinMs) return happenings.sort((a, b) => a.atMs - b.atMs);
    const spot = { atMs, replica: dice.whole(0, running - 1), running, ttlMs: fleet.ttlMs, forgottenMs };
    const faults = dice.pick(ambushes)(spot, dice);
    happenings.push(...faults);
    atMs = Math.max(atMs, ...faults.map((fault) => fault.atMs));
  }
}

const STEPS_MS = [30, 60, 900, 7_000, 3_600_000, -900, -7_000];

/** It goes on at about the moment at which its session, or its lease, is over. */
const frozen: Ambush = ({ atMs, replica, ttlMs, forgottenMs }, dice) => [
  {
    kind: "stall",
    atMs,
    replica,
    forMs: dice.pick([ttlMs, forgottenMs]) * dice.between(0.7, 1.3),
    whileConnecting: dice.chance(0.5),
  },
];

/** All but one stand still, and go on at once: whatever they were about to send, what they had leased is forgotten. */
const frozenTogether: Ambush = ({ atMs, replica, running, forgottenMs }, dice) => {
  const forMs = forgottenMs * dice.between(1, 1.5);
  const others = Array.from({ length: running }, (_, index) => index).filter((index) => index !== replica);
  return others.map((other) => ({ kind: "stall", atMs, replica: other, forMs, whileConnecting: true }));
};

export const FROZEN: readonly Ambush[] = [frozen, frozenTogether];

export const AMBUSHES: readonly Ambush[] = [
  frozen,
  frozenTogether,
  /** Somebody comes who cannot know that the store's clock was set forward just before. */
  ({ atMs, replica }, dice) => {
    const downMs = dice.between(0, 3_000);
    const crash = {
      kind: "crash",
      atMs,
      replica,
      downMs,
      takesTheMachine: true,
      comesBackRenamed: false,
    } as const;
    return [crash, { kind: "step", atMs: atMs + downMs - dice.between(0, 50), byMs: dice.pick(STEPS_MS) }];
  },
  /** The store forgets while somebody cannot hear of it. */
  ({ atMs, replica, ttlMs, forgottenMs }, dice) => {
    const forMs = dice.pick([ttlMs, forgottenMs]) * dice.between(0.3, 1.5);
    return [
      dice.chance(0.5) ? { kind: "cut", atMs, replica, forMs } : { kind: "stall", atMs, replica, forMs },
      { kind: "empty", atMs: atMs + forMs * dice.between(0, 1), restarts: dice.chance(0.5) },
    ];
  },
  /** The store forgets a second time, while it still waits until the past is forgotten. */
  ({ atMs, ttlMs, forgottenMs }, dice) => [
    { kind: "empty", atMs, restarts: dice.chance(0.5) },
    {
      kind: "promote",
      atMs: atMs + dice.pick([ttlMs, forgottenMs]) * dice.between(0, 1.1),
      lostMs: dice.between(0, 9_000),
    },
  ],
  /** The last writes of one who then goes away are lost with the server that had them. */
  ({ atMs, replica, ttlMs }, dice) => [
    { kind: "restart", atMs, replica, downMs: dice.between(0, 1_000) },
    { kind: "promote", atMs: atMs + dice.between(0, 3_000), lostMs: dice.between(0, ttlMs) },
  ],
  /** What was sent before the way was cut arrives when others have long gone on. */
  ({ atMs, replica, ttlMs }, dice) => [
    { kind: "lossy", atMs, forMs: ttlMs },
    { kind: "cut", atMs: atMs + dice.between(0, 200), replica, forMs: dice.between(300, 3_000) },
    { kind: "restart", atMs: atMs + dice.between(0, 3_000), replica, downMs: 0 },
  ],
  /** All turn to their reserves just when the shared part is used up, and back when the reserves are. */
  ({ atMs, forgottenMs }, dice) => [
    { kind: "away", atMs, forMs: dice.between(0.1, 1.2) * forgottenMs, refuses: dice.chance(0.5) },
    {
      kind: "away",
      atMs: atMs + 1.3 * forgottenMs,
      forMs: dice.between(0, 2_000),
      refuses: dice.chance(0.5),
    },
  ],
];
