import type { RedisDriver } from "./driver.ts";

/**
 * What the promise of a fleet rests on and this server does not have: one sentence each. A user without the right to
 * ask gets none. INFO is enough for all but the cluster's coverage, which only CONFIG tells.
 */
export async function missingIn(
  driver: RedisDriver,
  key: string,
  isCluster: boolean,
): Promise<readonly string[]> {
  const ask = async (...command: readonly string[]): Promise<unknown> => {
    try {
      return await driver.send(key, command, new AbortController().signal);
    } catch {
      return undefined;
    }
  };
  const [replication, memory, coverage] = await Promise.all([
    ask("INFO", "replication"),
    ask("INFO", "memory"),
    isCluster ? ask("CONFIG", "GET", "cluster-require-full-coverage") : undefined,
  ]);
  const warnings: string[] = [];
  // Redis counts its good replicas only where it is told how many it must have.
  const hasReplicas = Number(fieldIn(replication, "connected_slaves")) > 0;
  if (hasReplicas && fieldIn(replication, "min_slaves_good_slaves") === undefined) {
    warnings.push(
      "Redis has replicas, but min-replicas-to-write is 0: a master that is cut off goes on granting, and the limit may be exceeded",
    );
  }
  const policy = fieldIn(memory, "maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction" && fieldIn(memory, "maxmemory") !== "0") {
    warnings.push(
      `Redis may evict who holds what: its maxmemory-policy is ${policy}, and must be noeviction, or the limit may be exceeded`,
    );
  }
  if (Array.isArray(coverage) && coverage[1] === "yes") {
    warnings.push(
      "Redis has cluster-require-full-coverage yes: while any master is away, the cluster refuses the fleet too, which needs only one of them",
    );
  }
  return warnings;
}

/** Of lines of `name:value`. */
function fieldIn(info: unknown, name: string): string | undefined {
  return typeof info === "string" ? new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1] : undefined;
}
