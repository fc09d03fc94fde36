/**
 * Random lives of the real program: killed, stopped and reloaded at every moment, with its state file damaged, linked
 * and fought for, and its wall clock stepped: `npm run lives -- --minutes 10`. An upstream that counts for itself, by a
 * clock that nobody steps, judges: no rate and no quota is exceeded, and no pause is knocked into. Half of the worlds
 * have a disk that is full now and then, which needs the right to mount one.
 */

import { parseArgs } from "node:util";
import { liveInAWorld, type Tally } from "./lives/world.ts";

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      worlds: { type: "string", default: "2" },
    },
  });
  const [minutes, firstSeed, worlds] = [values.minutes, values.seed, values.worlds].map(Number);
  if (minutes === undefined || firstSeed === undefined || worlds === undefined || !(minutes > 0)) return 2;
  const untilMs = performance.now() + minutes * 60_000;
  const tally: Tally = { lives: 0, kills: 0, damages: 0, told: 0, steps: 0, full: 0, reloads: 0 };
  const broken: string[] = [];
  let seed = firstSeed;
  const isOver = (): boolean => performance.now() >= untilMs || broken.length > 0;
  const live = async (): Promise<void> => {
    while (!isOver()) {
      const lived = seed++;
      const failed = (error: unknown): string[] => [`seed ${lived}: ${String(error)}`];
      broken.push(...(await liveInAWorld(lived, tally, isOver).catch(failed)));
    }
  };
  await Promise.all(Array.from({ length: worlds }, live));
  for (const sentence of broken) console.error(sentence);
  console.log(
    `${broken.length === 0 ? "kept" : "BROKEN"}: ${JSON.stringify(tally)}, seeds from ${firstSeed}`,
  );
  return broken.length === 0 ? 0 : 1;
}
