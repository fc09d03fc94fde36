import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** What this process still holds, heap and buffers, once everything that nobody needs has gone. */
export async function heldBytes(): Promise<number> {
  // What is closed lets go of its buffers a turn later, and they go in the round after that.
  for (let round = 0; round < 4; round += 1) {
    collectGarbage();
    await sleep(50);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
