import type { RedisDriver } from "./driver.ts";

/**
 * What the promise rests on and this server does not have: one sentence each. A user without the right to
 * ask gets none.
 */
export async function missingIn(driver: RedisDriver): Promise<readonly string[]> {
  const ask = async (...command: readonly string[]): Promise<unknown> => {
    try {
      return await driver.send(command, new AbortController().signal);
    } catch {
      return undefined;
    }
  };
  const [replication, memory] = await Promise.all([ask("INFO", "replication"), ask("INFO", "memory")]);
  const warnings: string[] = [];
  // Redis counts its good replicas only where it is told how many it must have.
  const hasReplicas = Number(fieldIn(replication, "connected_slaves")) > 0;
  if (hasReplicas && fieldIn(replication, "min_slaves_good_slaves") === undefined) {
    warnings.push(
      "Redis has replicas, but min-replicas-to-write is 0: a master that is cut off goes on answering, and the limit may be exceeded",
    );
  }
  const policy = fieldIn(memory, "maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction" && fieldIn(memory, "maxmemory") !== "0") {
    warnings.push(
      `Redis may evict the lock: its maxmemory-policy is ${policy}, and must be noeviction, or the limit may be exceeded`,
    );
  }
  return warnings;
}

/** Of lines of `name:value`. */
function fieldIn(info: unknown, name: string): string | undefined {
  return typeof info === "string" ? new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1] : undefined;
}
