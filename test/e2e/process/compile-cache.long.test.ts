import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { startDaemon } from "../../support/processes/daemon.ts";

test("what the next start need not compile is written while the daemon runs, not only at its end", async () => {
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 100, per: "1m" } } },
    upstreams: [{ ...rawUpstream("api", "http://127.0.0.1:9"), every: "1h" }],
  });
  const cache = join(folder.folder, "cache");
  await using daemon = await startDaemon({
    configPath: folder.path,
    environment: { NODE_COMPILE_CACHE: cache },
  });
  await eventually(
    "the cache was written",
    () => readdir(cache, { recursive: true }),
    (files) => files.length > 20,
  );
  expect((await daemon.get("/-/healthy")).status).toBe(200);
});
