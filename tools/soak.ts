/**
 * Runs the real program at a thousand polls a second while its upstreams go through every fault, and judges what it
 * leaves behind: `npm run soak -- --minutes 10`. With `--write` it puts the result into docs/soak.md.
 */

import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { soakPage } from "./soak/page.ts";
import { soak } from "./soak/soak.ts";
import { growthsOf, lossesOf } from "./soak/verdict.ts";
import type { Sight } from "./soak/watch.ts";

const PAGE = new URL("../docs/soak.md", import.meta.url);
const SETTLES_MS = 10_000;
const SIGHT_EVERY_MS = 10_000;
const VISIT_EVERY_MS = 2_500;
const RELOAD_EVERY_MS = 20_000;
const MOST_TOLD = 20;

// The program that it watches ends with it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "10" },
      upstreams: { type: "string", default: "1000" },
      write: { type: "boolean", default: false },
    },
  });
  const minutes = Number(values.minutes);
  const upstreams = Number(values.upstreams);
  if (!(minutes >= 1) || !(Number.isSafeInteger(upstreams) && upstreams >= 100)) {
    console.error(
      "cannot soak: --minutes must be at least 1, and --upstreams a whole number of at least 100",
    );
    return 2;
  }
  const soaked = await soak({
    minutes,
    upstreams,
    settlesMs: SETTLES_MS,
    sightEveryMs: SIGHT_EVERY_MS,
    visitEveryMs: VISIT_EVERY_MS,
    reloadEveryMs: RELOAD_EVERY_MS,
    onSight: tell,
  });
  if (values.write) {
    await writeFile(PAGE, soakPage(soaked, upstreams));
    console.log("wrote docs/soak.md");
  }
  const broken = [...growthsOf(soaked.sights), ...lossesOf(soaked)];
  for (const sentence of broken.slice(0, MOST_TOLD)) console.error(sentence);
  if (broken.length > MOST_TOLD) console.error(`and ${broken.length - MOST_TOLD} more`);
  if (broken.length === 0) console.log(`flat, and nothing is lost: ${soaked.polls} polls`);
  return broken.length === 0 ? 0 : 1;
}

function tell(sight: Sight): void {
  const { polls, skipped, openFiles, activeResources, series, scrapeBytes, scrapeMs } = sight;
  console.log(
    `${polls} polls, ${skipped} skipped, heap ${megabytes(sight.heapBytes)}, resident ${megabytes(sight.residentBytes)}, ` +
      `${openFiles.toFixed(0)} open files, ${activeResources.toFixed(0)} resources, ${series} series, ` +
      `scrape ${megabytes(scrapeBytes)} in ${scrapeMs.toFixed(0)} ms`,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}
