import type { Life } from "../world/life.ts";
import { servedInTime } from "../world/setup.ts";
import type { Recovery } from "./recovery.ts";

/** What must hold whatever happened. Each answers with what is wrong, in words. */

const LEAST_USE = 0.9;

export function accountsFault(life: Life | undefined): string | undefined {
  for (const [name, tally] of life?.tallies ?? []) {
    const fault = tally.fault();
    if (fault !== undefined) return `the accounts of ${name} do not close: ${fault}`;
  }
  return undefined;
}

export function lostUpstream(life: Life | undefined, recovery: Recovery): string | undefined {
  if (life === undefined) return "the process is not back";
  const lost = life.setup.upstreams.find(({ name }) => life.tallyOf(name).lastOkAtMs < recovery.calmFromMs);
  if (lost === undefined) return undefined;
  const withinMs = Math.round(recovery.recoveredAtMs - recovery.calmFromMs);
  return `${lost.name} was not polled again within ${withinMs} ms after the last fault`;
}

export function pollsSoFar(life: Life | undefined): ReadonlyMap<string, number> {
  return new Map(life?.setup.upstreams.map(({ name }) => [name, life.tallyOf(name).polls]));
}

export function idleUpstream(
  life: Life | undefined,
  before: ReadonlyMap<string, number>,
  withinMs: number,
): string | undefined {
  for (const { name, schedule } of life === undefined ? [] : servedInTime(life.setup)) {
    const polls = (life?.tallyOf(name).polls ?? 0) - (before.get(name) ?? 0);
    const slots = Math.floor(withinMs / schedule.longestGapMs);
    // One slot may lie on the edge of what is watched.
    if (polls + 1 < LEAST_USE * slots)
      return `${name} used ${polls} of ${slots} slots, and nothing hindered it`;
  }
  return undefined;
}
