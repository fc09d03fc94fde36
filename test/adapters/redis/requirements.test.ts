import { expect, test } from "vitest";
import type { RedisDriver } from "../../../src/adapters/redis/driver.ts";
import { missingIn } from "../../../src/adapters/redis/requirements.ts";

type Told = {
  readonly replication?: string;
  readonly memory?: string;
  readonly coverage?: readonly string[];
};

/** Says of itself what it is told to say, and refuses to say the rest. */
function driverOf({ replication, memory, coverage }: Told): RedisDriver {
  return {
    send: (_key, [command, about]) => {
      const answer = command === "CONFIG" ? coverage : about === "memory" ? memory : replication;
      return answer === undefined ? Promise.reject(new Error("NOPERM")) : Promise.resolve(answer);
    },
    ended: new Promise(() => {}),
    destroy: () => {},
  };
}

const FAR = "Redis has replicas, but min-replicas-to-write is 0";
const EVICTS = "Redis may evict who holds what";
const WHOLE = "Redis has cluster-require-full-coverage yes";

test.each<[string, Told, boolean, readonly string[]]>([
  ["tells nothing", {}, true, []],
  ["is alone, and keeps all", { replication: "connected_slaves:0", memory: "maxmemory:0" }, false, []],
  [
    "has a replica that need not answer",
    { replication: "role:master\r\nconnected_slaves:1\r\n" },
    false,
    [FAR],
  ],
  ["has replicas that must", { replication: "connected_slaves:2\r\nmin_slaves_good_slaves:2" }, false, []],
  ["evicts when it is full", { memory: "maxmemory:100\r\nmaxmemory_policy:allkeys-lru" }, false, [EVICTS]],
  ["would evict, but is never full", { memory: "maxmemory:0\r\nmaxmemory_policy:allkeys-lru" }, false, []],
  ["is full, and evicts nothing", { memory: "maxmemory:100\r\nmaxmemory_policy:noeviction" }, false, []],
  [
    "stands for all of its cluster or none",
    { coverage: ["cluster-require-full-coverage", "yes"] },
    true,
    [WHOLE],
  ],
  ["stands for its part", { coverage: ["cluster-require-full-coverage", "no"] }, true, []],
  ["is no cluster", { coverage: ["cluster-require-full-coverage", "yes"] }, false, []],
])("of a Redis that %s it is told", async (_, told, isCluster, sentences) => {
  const warnings = await missingIn(driverOf(told), "key", isCluster);
  expect(warnings.map((warning) => sentences.find((sentence) => warning.startsWith(sentence)))).toEqual(
    sentences,
  );
});
