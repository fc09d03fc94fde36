/** Searches for the answer that costs the polling thread the most: `npm run fuzz -- --worst --seconds 600`. */

import { HINTS } from "../../src/features/hints/fields/answer-hints.ts";
import { ANNOUNCEMENT } from "../../src/features/announcements/announcement.ts";
import {
  answerOf,
  type HeaderRecipe,
  meet,
  NAMES,
  PIECES,
  type Recipe,
  SHAPES,
  VALUES,
} from "./worst-answers.ts";

const KEPT = 40;
/** The least of them, and of the thread's own time: a machine that is busy is none of the answer's doing. */
const MEASURED_TIMES = 5;
/** The first answers cost several times what the same ones cost later: nothing of them is compiled yet. */
const WARM_AFTER = 100;

type Found = { readonly recipe: Recipe; readonly ms: number; readonly keptBytes: number };

/** The worst by time, and the worst by what is kept, after so many seconds of changing the worst ones. */
export function searchWorst(
  seconds: number,
  seed: number,
): { readonly tried: number; readonly all: readonly Found[] } {
  const dice = diceOf(seed);
  const pick = <Each>(list: readonly Each[]): Each => list[Math.floor(dice() * list.length)] as Each;
  const header = (): HeaderRecipe => ({
    name: Math.floor(dice() * NAMES.length),
    value: Math.floor(dice() * VALUES.length),
    times: Math.ceil(2 ** (dice() * 14)),
    headers: Math.ceil(2 ** (dice() * 12)),
  });
  const recipe = (): Recipe => ({
    status: pick([200, 200, 402, 403, 429, 500, 503]),
    headers: Array.from({ length: Math.ceil(dice() * 4) }, header),
    shape: pick(Object.keys(SHAPES) as (keyof typeof SHAPES)[]),
    piece: Math.floor(dice() * PIECES.length),
    coding: pick(["identity", "gzip", "br", "gzip, gzip, gzip", "zebra"]),
  });
  const changed = (old: Recipe): Recipe => {
    const other = recipe();
    const part = pick(["status", "headers", "shape", "piece", "coding"] as const);
    if (part !== "headers") return { ...old, [part]: other[part] };
    return { ...old, headers: [...old.headers.filter(() => dice() < 0.7), header()].slice(-5) };
  };
  let slowest: readonly Found[] = [];
  let heaviest: readonly Found[] = [];
  for (let at = 0; at < WARM_AFTER; at += 1) meet(answerOf(recipe()));
  let tried = 0;
  for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; tried += 1) {
    const parents = [...slowest, ...heaviest];
    const next = parents.length === 0 || dice() < 0.2 ? recipe() : changed(pick(parents).recipe);
    const found = measured(next);
    slowest = [...slowest, found].toSorted((a, b) => b.ms - a.ms).slice(0, KEPT);
    heaviest = [...heaviest, found].toSorted((a, b) => b.keptBytes - a.keptBytes).slice(0, KEPT);
  }
  // Once more, as of many measurements the worst ones are accidents of the machine's.
  const again = slowest.map((found) => ({ ...found, ms: Math.min(found.ms, measured(found.recipe).ms) }));
  return { tried, all: [...again.toSorted((a, b) => b.ms - a.ms).slice(0, 3), ...heaviest.slice(0, 3)] };
}

function measured(recipe: Recipe): Found {
  const answer = answerOf(recipe);
  let ms = Infinity;
  let keptBytes = 0;
  for (let time = 0; time < MEASURED_TIMES; time += 1) {
    const beforeMs = threadMs();
    const { kept, poll } = meet(answer);
    ms = Math.min(ms, threadMs() - beforeMs);
    keptBytes = Buffer.byteLength(JSON.stringify([kept, ANNOUNCEMENT.of(poll.said), HINTS.of(poll.said)]));
  }
  return { recipe, ms, keptBytes };
}

/** Linux counts a thread's time in ticks of some milliseconds, unless the whole process's time was just asked for. */
function threadMs(): number {
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function diceOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), state | 1);
    return (
      ((mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    );
  };
}
