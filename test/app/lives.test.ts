import { expect, test } from "vitest";
import { Lives } from "../../src/app/lives.ts";
import { AppReload } from "../../src/app/reload.ts";
import { createLogger } from "../../src/features/log/logger.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { NameResolver } from "../../src/transport/dns/name-resolver.ts";
import { KnownKeys } from "../../src/transport/secrets/known-keys.ts";
import { loaded } from "../config/config-file.ts";
import { eventually } from "../support/eventually.ts";
import { REDIS_SERVER, RedisServer } from "../support/processes/redis-server.ts";
import { answer, openRawUpstream } from "../support/raw-upstream.ts";

const mute = { write: () => {} };

test.skipIf(REDIS_SERVER === undefined)(
  "a budget that comes by a reload which was under way as this process began to lead is polled, after a cold start",
  async () => {
    await using server = await RedisServer.start();
    const upstream = await openRawUpstream(async ({ request, write }) => {
      while ((await request()) !== undefined) write(answer("{}"));
    });
    const config = (...names: readonly string[]): string =>
      [
        `fleet: { lock: { redis: { url: "redis://127.0.0.1:${server.port}" } }, ttl: 1s, name: a }`,
        "budgets:",
        ...names.map((name) => `  ${name}: { rate: { requests: 1000, per: 1m } }`),
        "upstreams:",
        ...names.map(
          (name) =>
            `  - { name: ${name}, base_url: "${upstream.url}", path: /${name}, auth: { none: true }, budget: ${name}, every: 1s }`,
        ),
      ].join("\n");
    const [first, second] = await Promise.all([loaded(config("old")), loaded(config("old", "new"))]);
    const stopping = new AbortController();
    const parts = {
      clock: systemClock,
      environment: {},
      keys: new KnownKeys([]),
      names: new NameResolver({ clock: systemClock }),
      userAgent: "pacewatch/test",
      log: createLogger({ level: "info", out: mute }),
      onBug: (bug: unknown) => {
        throw bug;
      },
    };
    await using lives = new Lives(parts);
    const { promise: isRead, resolve: read } = Promise.withResolvers<typeof second>();
    await using reload = new AppReload(first, {
      ...parts,
      configPath: "pacewatch.yaml",
      load: () => isRead,
      withdraw: () => {},
      life: () => lives.life,
      stopping: stopping.signal,
      onChanged: (changed) => lives.changed(changed),
    });
    const reloaded = reload.run("asked");
    await lives.open(
      reload,
      () => {
        throw new Error("nobody asks for it");
      },
      undefined,
    );
    await eventually("it leads", () => lives.lead?.status.isLeading);
    read(second);
    expect(await reloaded).toEqual({ kind: "reloaded" });
    await eventually("both are polled", () =>
      ["/old", "/new"].every((path) => upstream.requests.some((head) => head.includes(`GET ${path} `))),
    );
    await upstream.close();
  },
);
