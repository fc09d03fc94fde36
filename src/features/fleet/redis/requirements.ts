/**
 * What the promise rests on and this server does not have: one sentence each. A user without the right to
 * ask gets none.
 */
export async function missingIn(
  ask: (command: readonly string[]) => Promise<unknown>,
): Promise<readonly string[]> {
  const [replication, memory] = await Promise.all(
    ["replication", "memory"].map((part) => ask(["INFO", part]).catch(() => undefined)),
  );
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
