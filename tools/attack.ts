/**
 * Runs each attack of tools/attack/attacks against the real daemon on this machine, under the memory limits that ship:
 * `npm run attack`, or `npm run attack -- --upstreams 1000,5000 --write` for the figures in docs/threat-model.md.
 */

import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { loadAttacks } from "./attack/attack.ts";
import { rowsOf, withFigures } from "./attack/page.ts";
import { type Endured, stage } from "./attack/stage.ts";
import { memoryLimitFor } from "./attack/limits.ts";

const PAGE = new URL("../docs/threat-model.md", import.meta.url);

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      upstreams: { type: "string", default: "2,200" },
      seconds: { type: "string", default: "10" },
      only: { type: "string", default: "" },
      write: { type: "boolean", default: false },
    },
  });
  const sizes = values.upstreams.split(",").map(Number);
  const seconds = Number(values.seconds);
  if (sizes.some((size) => !(size >= 1 && size <= 10_000)) || !(seconds >= 1 && seconds <= 60)) {
    console.error("cannot attack: --upstreams must be numbers from 1 to 10000, and --seconds from 1 to 60");
    return 2;
  }
  const attacks = (await loadAttacks()).filter(({ name }) => name.includes(values.only));
  const all: Endured[] = [];
  for (const upstreams of sizes) {
    const limitBytes = await memoryLimitFor(upstreams);
    const attackMs = seconds * 1_000;
    all.push(...(await stage({ attacks, upstreams, limitBytes, attackMs, onEndured: tell })));
  }
  if (values.write) {
    await writeFile(PAGE, withFigures(await readFile(PAGE, "utf8"), all));
    console.log("wrote docs/threat-model.md");
  }
  return all.some(({ ended }) => ended !== undefined) ? 1 : 0;
}

function tell(endured: Endured): void {
  for (const row of rowsOf([endured])) console.log(row.join(" | "));
}
