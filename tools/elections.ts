/**
 * Random worlds with an adversary for the lock of a fleet, judged: `npm run elections -- --worlds 10000 --first 1`. It
 * prints each seed whose world goes wrong, and what went wrong first.
 */

import { parseArgs } from "node:util";
import { randomLife } from "../test/support/lead/random-life.ts";

const { values } = parseArgs({
  options: { worlds: { type: "string", default: "1000" }, first: { type: "string", default: "1" } },
});
const first = Number(values.first);
const worlds = Number(values.worlds);
let lives = 0;
let wrong = 0;
let slowest = 0;
for (let seed = first; seed < first + worlds; seed += 1) {
  const life = await randomLife(seed);
  lives += life.lives;
  slowest = Math.max(slowest, life.backAfterTtls);
  if (life.wrongs.length === 0 && life.backAfterTtls < 1.5) continue;
  wrong += 1;
  console.log(
    `seed ${seed}: ${life.wrongs[0] ?? `silent for ${life.backAfterTtls.toFixed(1)} ttl after its cold start`}`,
  );
}
console.log(
  `${worlds} worlds, ${lives} lives, ${wrong} worlds went wrong; led again after at most ${slowest.toFixed(2)} ttl and a cold start`,
);
if (wrong > 0) process.exitCode = 1;
