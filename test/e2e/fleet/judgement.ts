import { expect } from "vitest";
import type { Fleet } from "../../support/fleet/fleet.ts";
import { type Handover, handoversOf, tenuresOf, unusedSlots } from "../../support/fleet/holder-judge.ts";
import { monotonicMs } from "../../support/fleet/monotonic.ts";
import { type Scene, openScene } from "../../support/fleet/scene.ts";
import { judgeFleet } from "../../support/fleet/verdict.ts";
import type { SeenRequest } from "../../support/fleet/witness.ts";

/** Where something in it fails, what the replicas said is told: without it nobody could say why. */
export async function inFleet(scene: Scene, live: (fleet: Fleet) => Promise<void>): Promise<void> {
  await using fleet = await openScene(scene);
  try {
    await live(fleet);
  } catch (error) {
    for (const { life, daemon } of fleet.lives) {
      const lines = daemon.logs.filter(({ msg }) => msg !== "polled" && msg !== "slot skipped");
      process.stdout.write(`${life} said:\n${lines.map((line) => `  ${JSON.stringify(line)}\n`).join("")}`);
    }
    process.stdout.write(`the witness saw:\n${tenureLines(await fleet.seen(), scene.periodMs)}`);
    throw error;
  }
}

function tenureLines(seen: readonly SeenRequest[], periodMs: number): string {
  const beganMs = seen[0]?.atMs ?? 0;
  const seconds = (atMs: number): string => ((atMs - beganMs) / 1_000).toFixed(3);
  return tenuresOf(seen, periodMs)
    .toSorted((a, b) => a.upstream.localeCompare(b.upstream) || a.fromMs - b.fromMs)
    .map(
      ({ upstream, life, fromMs, untilMs, requests }) =>
        `  ${upstream}: ${requests} of ${life} from ${seconds(fromMs)} to ${seconds(untilMs)} s\n`,
    )
    .join("");
}

export async function expectKept(fleet: Fleet, scene: Scene, story: string): Promise<void> {
  const { summary, faults } = await judgeFleet(fleet, scene);
  process.stdout.write(`${story}: ${summary}\n`);
  expect(faults).toEqual([]);
}

/** How each upstream went from this life to another. */
export async function handoversFrom(fleet: Fleet, life: string): Promise<readonly Handover[]> {
  return handoversOf(await fleet.seen()).filter(({ from }) => from === life);
}

/**
 * What the death of a life has cost, against what is said of it: each slot that nobody used was skipped by the one
 * before its death, or counted as missed by its heir, or skipped by the heir before it could poll. The heir knows of the
 * last beat only, and the dead one would have stopped by itself 0.8 of ttl after that: so it may count that much too
 * many.
 */
export function expectUnusedAreCounted(fleet: Fleet, scene: Scene, handovers: readonly Handover[]): void {
  const wallMs = Date.now() - monotonicMs();
  for (const handover of handovers) {
    const { upstream, lastMs, firstMs } = handover;
    const unused = unusedSlots(handover, scene.periodMs);
    const told = fleet.lives
      .flatMap((replica) => replica.skippedSlots(upstream))
      .filter(({ atWallMs }) => atWallMs > lastMs + wallMs && atWallMs < firstMs + wallMs);
    const counted = told.reduce((sum, { count }) => sum + count, 0);
    const causes = told.map(({ cause, count }) => `${count} ${cause}`).join(", ");
    process.stdout.write(`failover of ${upstream}: ${unused} slots unused, counted as ${causes}\n`);
    expect(told.map(({ cause }) => cause)).toContain("missed");
    expect(counted).toBeGreaterThanOrEqual(unused - 1);
    expect(counted).toBeLessThanOrEqual(unused + 1 + Math.ceil((0.8 * scene.ttlMs) / scene.periodMs));
  }
}
