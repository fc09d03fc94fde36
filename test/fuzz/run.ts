/** Fuzzes every parser that takes bytes from outside: `npm run fuzz -- --seconds 60 --seed 1`. */

import { parseArgs } from "node:util";
import * as fc from "fast-check";
import { configTarget } from "./config.ts";
import { headersTarget } from "./headers.ts";
import { responsesTarget } from "./responses.ts";
import type { Target } from "./target.ts";
import { webConfigTarget } from "./web-config.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Math.floor(Date.now() % 2 ** 31)) },
  },
});
const secondsEach = Number(values.seconds) / 4;
const seed = Number(values.seed);
if (!(secondsEach > 0) || !Number.isSafeInteger(seed)) {
  console.error("cannot fuzz: --seconds must be a number above 0 and --seed a whole number");
  process.exit(2);
}

/** Whether nothing was found. */
async function fuzz<Case>({ name, cases, open }: Target<Case>): Promise<boolean> {
  await using session = await open();
  const found = await fc.check(fc.asyncProperty(cases, session.check), {
    seed,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: secondsEach * 1_000,
  });
  console.log(`${name}: ${found.numRuns} cases, seed ${seed}, ${found.failed ? "FAILED" : "nothing found"}`);
  if (!found.failed) return true;
  console.log(`  ${String(found.errorInstance)}`);
  console.log(
    `  after ${found.numShrinks} shrinks, to be kept in test/fuzz/: ${JSON.stringify(found.counterexample?.[0])}`,
  );
  return false;
}

const clean = [
  await fuzz(headersTarget),
  await fuzz(webConfigTarget),
  await fuzz(configTarget),
  await fuzz(responsesTarget),
];
process.exitCode = clean.every(Boolean) ? 0 : 1;
