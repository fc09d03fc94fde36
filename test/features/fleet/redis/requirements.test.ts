import { expect, test } from "vitest";
import { missingIn } from "../../../../src/features/fleet/redis/requirements.ts";

type Told = {
  readonly replication?: string;
  readonly memory?: string;
};

/** Says of itself what it is told to say, and refuses to say the rest. */
function serverThat({ replication, memory }: Told): (command: readonly string[]) => Promise<string> {
  return ([, about]) => {
    const answer = about === "memory" ? memory : replication;
    return answer === undefined ? Promise.reject(new Error("NOPERM")) : Promise.resolve(answer);
  };
}

const FAR = "Redis has replicas, but min-replicas-to-write is 0";
const EVICTS = "Redis may evict the lock";

test.each<[string, Told, readonly string[]]>([
  ["tells nothing", {}, []],
  ["is alone, and keeps all", { replication: "connected_slaves:0", memory: "maxmemory:0" }, []],
  ["has a replica that need not answer", { replication: "role:master\r\nconnected_slaves:1\r\n" }, [FAR]],
  ["has replicas that must", { replication: "connected_slaves:2\r\nmin_slaves_good_slaves:2" }, []],
  ["evicts when it is full", { memory: "maxmemory:100\r\nmaxmemory_policy:allkeys-lru" }, [EVICTS]],
  ["would evict, but is never full", { memory: "maxmemory:0\r\nmaxmemory_policy:allkeys-lru" }, []],
  ["is full, and evicts nothing", { memory: "maxmemory:100\r\nmaxmemory_policy:noeviction" }, []],
])("of a Redis that %s it is told", async (_, told, sentences) => {
  const warnings = await missingIn(serverThat(told));
  expect(warnings.map((warning) => sentences.find((sentence) => warning.startsWith(sentence)))).toEqual(
    sentences,
  );
});
