import { describe, expect, test } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { REDIS_SERVER, RedisServer } from "../../support/processes/redis-server.ts";
import { giving, oauth2, openTokenService } from "../../support/token-endpoint.ts";

const REPLICAS = ["r1", "r2", "r3"];
const CLIENTS = 10;
/** Polls and tokens just fit, as `check` demands: those of a life and the next in one window would not. */
const LIMIT = { requests: 72, perMs: 2_000 };

describe.skipIf(REDIS_SERVER === undefined)("a fleet that needs all its tokens at the same moment", () => {
  test(
    "stays within the limit of the service, by its count, and polls everything",
    { timeout: 180_000 },
    async () => {
      await using stack = new AsyncDisposableStack();
      const service = stack.use(
        await openTokenService(
          giving((turn) => `test-key-token-${turn}`),
          LIMIT,
        ),
      );
      const redis = stack.use(await RedisServer.start());
      const folder = stack.use(
        await openConfigFolder({
          fleet: {
            redis: { url: `redis://127.0.0.1:${redis.port}/0` },
            replicas: REPLICAS.length,
            name: "${REPLICA}",
            mode: "everywhere",
            ttl: "5s",
          },
          budgets: { api: { rate: { requests: LIMIT.requests, per: "2s" }, share: "100%", linger: "1s" } },
          upstreams: Array.from({ length: CLIENTS }, (_, index) =>
            rawUpstream(`u${index}`, service.url, {
              auth: oauth2(service, { client_id: `client-${index}` }),
              proxy: "none",
              every: "3s",
            }),
          ),
        }),
      );
      const start = (name: string): Promise<Daemon> =>
        startDaemon({
          configPath: folder.path,
          environment: { REPLICA: name, CLIENT_SECRET: "test-key-client" },
        });
      // The second time, every token is lost with the process that had it.
      for (const life of [1, 2]) {
        await using replicas = new AsyncDisposableStack();
        for (const replica of await Promise.all(REPLICAS.map(start))) replicas.use(replica);
        await eventually(
          "each replica has a token of each client, and polls with all of them",
          () => new Set(service.shown).size,
          (used) => used >= life * REPLICAS.length * CLIENTS,
        );
      }
      expect(service.judge.violations).toBe(0);
      expect(service.judge.worstWindow()[0]?.requests).toBeGreaterThan(CLIENTS);
    },
  );
});
