import { describe, expect, test } from "vitest";
import { Lives } from "../../src/app/lives.ts";
import { AppReload } from "../../src/app/reload.ts";
import { createLogger } from "../../src/features/log/logger.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { NameResolver } from "../../src/transport/dns/name-resolver.ts";
import { KnownKeys } from "../../src/transport/secrets/known-keys.ts";
import { loaded, type Loaded } from "../config/config-file.ts";
import { eventually } from "../support/eventually.ts";
import { REDIS_SERVER, RedisServer } from "../support/processes/redis-server.ts";
import { answer, openRawUpstream, type RawUpstream } from "../support/raw-upstream.ts";

/** A process of a fleet, and a config that its file has by now: with one more budget and its upstream. */
type Scene = AsyncDisposable & {
  readonly reload: AppReload;
  /** The file is read from now on. */
  readonly read: () => void;
  readonly leads: () => Promise<unknown>;
  readonly polled: (...upstreams: readonly string[]) => Promise<unknown>;
};

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await RedisServer.start());
  const upstream = await openRawUpstream(async (connection) => {
    while ((await connection.request()) !== undefined) connection.write(answer("{}"));
  });
  stack.defer(() => upstream.close());
  const [before, after] = await Promise.all([
    loaded(configOf(server, upstream, "old")),
    loaded(configOf(server, upstream, "old", "new")),
  ]);
  const parts = {
    clock: systemClock,
    environment: {},
    keys: new KnownKeys([]),
    names: new NameResolver({ clock: systemClock }),
    userAgent: "pacewatch/test",
    log: createLogger({ level: "info", out: { write: () => {} } }),
    onBug: (bug: unknown) => {
      throw bug;
    },
  };
  const lives = stack.use(new Lives(parts));
  const { promise: file, resolve } = Promise.withResolvers<Loaded>();
  const reload = stack.use(
    new AppReload(before, {
      ...parts,
      configPath: "pacewatch.yaml",
      load: () => file,
      withdraw: () => {},
      life: () => lives.life,
      stopping: new AbortController().signal,
      onChanged: (changed) => lives.life?.changed(changed),
    }),
  );
  const status = (): never => {
    throw new Error("nobody asks for it");
  };
  await lives.open(reload, status, undefined);
  const owned = stack.move();
  return {
    reload,
    read: () => resolve(after),
    leads: () => eventually("it leads", () => lives.lead?.status.isLeading),
    polled: (...upstreams) =>
      eventually(`${upstreams.join(" and ")} are polled`, () =>
        upstreams.every((name) => upstream.requests.some((head) => head.startsWith(`GET /${name} `))),
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function configOf(server: RedisServer, { url }: RawUpstream, ...names: readonly string[]): string {
  const upstreamOf = (name: string): string =>
    `{ name: ${name}, base_url: "${url}", path: /${name}, auth: { none: true }, budget: ${name}, every: 1s, timeout: 1s }`;
  return [
    `fleet: { lock: { redis: { url: "redis://127.0.0.1:${server.port}" } }, ttl: 1s, name: a }`,
    "budgets:",
    ...names.map((name) => `  ${name}: { rate: { requests: 20, per: 1s } }`),
    "upstreams:",
    ...names.map((name) => `  - ${upstreamOf(name)}`),
  ].join("\n");
}

describe.skipIf(REDIS_SERVER === undefined)(
  "a process that begins to lead while its config is reloaded",
  () => {
    test("polls what came by that reload too", async () => {
      await using scene = await openScene();
      const { promise: isHeld, resolve: go } = Promise.withResolvers<void>();
      void scene.reload.exclusively(() => isHeld);
      const reloaded = scene.reload.run("asked");
      scene.read();
      await scene.leads();
      go();
      expect(await reloaded).toEqual({ kind: "reloaded" });
      await scene.polled("old", "new");
    });

    test("does not wait for a file that is slow to read, and polls what it brings once it is read", async () => {
      await using scene = await openScene();
      const reloaded = scene.reload.run("asked");
      await scene.polled("old");
      scene.read();
      expect(await reloaded).toEqual({ kind: "reloaded" });
      await scene.polled("new");
    });
  },
);
