import { createClient } from "@redis/client";
import { describe, expect, test } from "vitest";
import type { Register } from "../../src/features/fleet/lead/register.ts";
import { RedisRegister } from "../../src/features/fleet/redis/register.ts";
import { eventually } from "../support/eventually.ts";
import { LockWorld } from "../support/lead/world.ts";
import { REDIS_SERVER, RedisServer } from "../support/processes/redis-server.ts";

/** What every lock promises, and the one that elections are tried with. */
type Place = AsyncDisposable & {
  /** Its one value, as two processes reach it. */
  readonly one: Register;
  readonly other: Register;
  emptied(): Promise<unknown>;
  /** With all that it kept. */
  restarted(): Promise<unknown>;
};

const simulated = async (): Promise<Place> => {
  const world = new LockWorld({ seed: 1 });
  return {
    one: world.register(world.lock),
    other: world.register(world.lock),
    emptied: async () => world.emptied(),
    restarted: async () => (world.era += 1),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
};

const redis = async (): Promise<Place> => {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await RedisServer.start("--appendonly", "yes", "--appendfsync", "always"));
  const connect = async () => {
    const client = createClient({ RESP: 2, socket: { host: "127.0.0.1", port: server.port } });
    client.on("error", () => {});
    await client.connect();
    stack.defer(() => client.destroy());
    const run = (script: string, key: string, ...args: readonly string[]): Promise<unknown> =>
      client.sendCommand(["EVAL", script, "1", key, ...args]);
    return { client, register: new RedisRegister({ run }, "pacewatch") };
  };
  const [{ client, register: one }, { client: second, register: other }] = [await connect(), await connect()];
  const opened = stack.move();
  return {
    one,
    other,
    emptied: () => client.sendCommand(["FLUSHALL"]),
    restarted: async () => {
      await server.restart();
      for (const each of [client, second])
        await eventually("it is connected again", async () => {
          const answer: unknown = await each.sendCommand(["PING"]);
          return answer === "PONG";
        });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
};

/** Over whatever stands there. */
async function write(register: Register, value: string): Promise<void> {
  const { version } = await register.read();
  expect(await register.write(value, version)).toMatchObject({ kind: "written" });
}

describe.each([
  ["the simulated lock", simulated, true],
  ["Redis", redis, REDIS_SERVER !== undefined],
] as const)("%s", (_, open, isThere) => {
  test.skipIf(!isThere)("a value is replaced by who read it last, and by nobody else", async () => {
    await using place = await open();
    const { one, other } = place;
    const nothing = await one.read();
    expect(nothing).toMatchObject({ value: undefined, isSure: false });
    const first = await one.write("ours\nin two lines ✓", nothing.version);
    expect(await other.write("theirs", nothing.version)).toEqual({ kind: "changed" });
    const read = await other.read();
    expect(read).toEqual({ ...nothing, value: "ours\nin two lines ✓", version: read.version, isSure: true });
    expect(first).toEqual({ kind: "written", version: read.version });
    expect(await other.write("theirs", read.version)).toMatchObject({ kind: "written" });
    expect(await one.write("ours again", read.version)).toEqual({ kind: "changed" });
    expect(await one.read()).toMatchObject({ value: "theirs" });
  });

  test.skipIf(!isThere)(
    "what was emptied is nothing, and whoever read it before writes over nothing no more",
    async () => {
      await using place = await open();
      await write(place.one, "ours");
      const { version } = await place.one.read();
      await place.emptied();
      expect(await place.other.read()).toMatchObject({ value: undefined, isSure: false });
      expect(await place.one.write("ours again", version)).toEqual({ kind: "changed" });
    },
  );

  test.skipIf(!isThere)("what a restart brought back is not sure, until it is written again", async () => {
    await using place = await open();
    await write(place.one, "ours");
    const before = await place.one.read();
    await place.restarted();
    const after = await place.one.read();
    expect(after).toMatchObject({ value: "ours", isSure: false });
    expect(after.era).not.toBe(before.era);
    expect(await place.one.write("by an old version", before.version)).toEqual({ kind: "changed" });
    await write(place.other, "ours again");
    expect(await place.one.read()).toMatchObject({ value: "ours again", isSure: true, era: after.era });
  });
});
