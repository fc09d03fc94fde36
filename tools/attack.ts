/**
 * Runs each attack of tools/attack/attacks against the real daemon on this machine, under the memory limits that ship:
 * `npm run attack`, or `npm run attack -- --upstreams 1000,5000 --write` for the figures in docs/threat-model.md.
 */

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { loadAttacks } from "./attack/attack.ts";
import { rowsOf, withFigures } from "./attack/page.ts";
import { type Endured, stage } from "./attack/stage.ts";
import { memoryLimitFor } from "./attack/limits.ts";

const USAGE = `npm run build && npm run attack -- [options]

  --upstreams 2,200  numbers of upstreams, from 1 to 10000, one daemon for each
  --seconds 10       for each attack, from 1 to 60
  --only TEXT        only attacks whose name contains it
  --answers          only those by what upstreams answer
  --clients          only those by who asks Pacewatch
  --write            put the figures into docs/threat-model.md
  --help             this text, and the names of all attacks
`;

const PAGE = new URL("../docs/threat-model.md", import.meta.url);
const BUNDLE = new URL("../dist/bin/pacewatch.mjs", import.meta.url);

/** Of what upstreams answer, no other upstream and no probe may notice more. */
const MOST_GAP_MS = 2_000;
const MOST_PROBE_MS = 1_000;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      upstreams: { type: "string", default: "2,200" },
      seconds: { type: "string", default: "10" },
      only: { type: "string", default: "" },
      answers: { type: "boolean", default: false },
      clients: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const known = await loadAttacks();
  if (values.help) {
    console.log([USAGE, ...known.map(({ name }) => `  ${name}`)].join("\n"));
    return 0;
  }
  const sizes = values.upstreams.split(",").map(Number);
  const seconds = Number(values.seconds);
  if (sizes.some((size) => !(size >= 1 && size <= 10_000)) || !(seconds >= 1 && seconds <= 60)) {
    console.error("cannot attack: --upstreams must be numbers from 1 to 10000, and --seconds from 1 to 60");
    return 2;
  }
  const attacks = known.filter(
    ({ name, hostility }) =>
      name.includes(values.only) && (hostility === undefined ? !values.answers : !values.clients),
  );
  if (attacks.length === 0) {
    console.error(
      `cannot attack: --only must be a part of an attack's name, received ${values.only}; see --help`,
    );
    return 2;
  }
  if (!existsSync(BUNDLE)) {
    console.error('cannot attack: what ships is not built; run "npm run build" first');
    return 2;
  }
  const all: Endured[] = [];
  for (const upstreams of sizes) {
    const limitBytes = await memoryLimitFor(upstreams);
    const attackMs = seconds * 1_000;
    all.push(...(await stage({ attacks, upstreams, limitBytes, attackMs, onEndured: tell })));
  }
  const byAnswers = new Set(known.filter(({ hostility }) => hostility !== undefined).map(({ name }) => name));
  if (values.write) {
    const [answers, clients] = [true, false].map((is) =>
      all.filter(({ attack }) => byAnswers.has(attack) === is),
    );
    const page = withFigures(await readFile(PAGE, "utf8"), "answers", answers ?? []);
    await writeFile(PAGE, withFigures(page, "attacks", clients ?? []));
    console.log("wrote docs/threat-model.md");
  }
  const isDelayed = ({ attack, longestGapMs, probes, probesBeside }: Endured): boolean =>
    byAnswers.has(attack) &&
    (longestGapMs > MOST_GAP_MS || Math.max(probes.longestMs, probesBeside.longestMs) > MOST_PROBE_MS);
  const bad = all.filter((endured) => endured.ended !== undefined || isDelayed(endured));
  for (const endured of bad) console.error(`it must not be so: ${rowsOf([endured])[0]?.join(" | ")}`);
  return bad.length === 0 ? 0 : 1;
}

function tell(endured: Endured): void {
  for (const row of rowsOf([endured])) console.log(row.join(" | "));
}
