/**
 * The fleet at full length, which no test has the time for: `npm run fleet-trial`, or with the names of some parts.
 * It prints what was seen, and ends with 1 where a promise was broken.
 */

import { REDIS_SERVER } from "../test/support/processes/redis-server.ts";
import { tellAccidents } from "./fleet-trial/accidents.ts";
import { tellClocks } from "./fleet-trial/clocks.ts";
import { tellFailover } from "./fleet-trial/failover.ts";
import { tellRebalance } from "./fleet-trial/rebalance.ts";
import { say } from "./fleet-trial/say.ts";

const PARTS: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  shard: () => tellAccidents("shard"),
  everywhere: () => tellAccidents("everywhere"),
  failover: tellFailover,
  clocks: tellClocks,
  rebalance: tellRebalance,
};

process.exitCode = await fleetTrial(process.argv.slice(2));

async function fleetTrial(wanted: readonly string[]): Promise<number> {
  const unknown = wanted.find((name) => PARTS[name] === undefined);
  if (unknown !== undefined) {
    console.error(`cannot try: "${unknown}" must be one of ${Object.keys(PARTS).join(", ")}`);
    return 2;
  }
  if (REDIS_SERVER === undefined) return 1;
  let faults = 0;
  for (const [name, tell] of Object.entries(PARTS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    faults += (await tell()).length;
  }
  say(faults === 0 ? "every promise was kept" : `${faults} violations`);
  return faults === 0 ? 0 : 1;
}
