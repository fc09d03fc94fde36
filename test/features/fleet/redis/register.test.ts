import { createClient } from "@redis/client";
import { expect, test } from "vitest";
import { RedisRegister } from "../../../../src/features/fleet/redis/register.ts";
import { MOST_BYTES } from "../../../../src/features/fleet/lead/register.ts";
import { eventually } from "../../../support/eventually.ts";
import { REDIS_SERVER, RedisServer } from "../../../support/processes/redis-server.ts";

type Commands = (...args: string[]) => Promise<unknown>;

/** Commands to a server as any client sends them, and a register by the same way. */
async function connect(
  server: RedisServer,
  stack: AsyncDisposableStack,
  as?: { readonly username: string; readonly password: string },
): Promise<{ readonly register: RedisRegister; readonly send: Commands }> {
  const client = createClient({ RESP: 2, ...as, socket: { host: "127.0.0.1", port: server.port } });
  client.on("error", () => {});
  await client.connect();
  stack.defer(() => client.destroy());
  const send: Commands = (...args) => client.sendCommand(args);
  const run = (script: string, key: string, ...args: readonly string[]): Promise<unknown> =>
    send("EVAL", script, "1", key, ...args);
  return { register: new RedisRegister({ run }, "pacewatch"), send };
}

async function start(
  stack: AsyncDisposableStack,
  ...args: readonly string[]
): Promise<{ readonly server: RedisServer; readonly register: RedisRegister; readonly send: Commands }> {
  const server = stack.use(await RedisServer.start(...args));
  return { server, ...(await connect(server, stack)) };
}

/** Over whatever stands there. */
async function write(register: RedisRegister, value: string): Promise<void> {
  const { version } = await register.read();
  expect(await register.write(value, version)).toMatchObject({ kind: "written" });
}

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("of many who write at once over the same, one has written", async () => {
    await using stack = new AsyncDisposableStack();
    const { server, register } = await start(stack);
    const all = await Promise.all(Array.from({ length: 8 }, () => connect(server, stack)));
    for (let round = 0; round < 20; round += 1) {
      const { version } = await register.read();
      const answers = await Promise.all(
        all.map(({ register: each }, index) => each.write(`${round} ${index}`, version)),
      );
      const written = answers.flatMap(({ kind }, index) => (kind === "written" ? [`${round} ${index}`] : []));
      expect(written).toEqual([(await register.read()).value]);
    }
  });

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("what is set back to an older state has that state's version again", async () => {
    await using stack = new AsyncDisposableStack();
    const { register, send } = await start(stack);
    await write(register, "first");
    const first = await register.read();
    const kept = String(await send("GET", "pacewatch"));
    await write(register, "second");
    await send("SET", "pacewatch", kept);
    expect(await register.read()).toEqual(first);
  });

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("a replica answers nothing, and who becomes the master begins a new era", async () => {
    await using stack = new AsyncDisposableStack();
    const master = await start(stack, "--repl-diskless-sync-delay", "0");
    const replica = await start(stack, "--replicaof", "127.0.0.1", String(master.server.port));
    await write(master.register, "ours");
    await eventually("it is replicated", async () =>
      String(await replica.send("GET", "pacewatch")).includes("ours"),
    );
    await expect(replica.register.read()).rejects.toThrow("READONLY this server is a replica");
    const { version } = await master.register.read();
    await expect(replica.register.write("theirs", version)).rejects.toThrow("READONLY");
    await replica.send("REPLICAOF", "NO", "ONE");
    const promoted = await replica.register.read();
    expect(promoted).toMatchObject({ value: "ours", isSure: false });
    expect(await replica.register.write("theirs", version)).toEqual({ kind: "changed" });
    await write(replica.register, "theirs");
    await master.send("REPLICAOF", "127.0.0.1", String(replica.server.port));
    await expect(master.register.read()).rejects.toThrow("READONLY");
  });

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("what others wrote there is shown as it is, and not as written in this era", async () => {
    await using stack = new AsyncDisposableStack();
    const { register, send } = await start(stack);
    await send("SET", "pacewatch", "somebody's cache");
    expect(await register.read()).toMatchObject({ value: "somebody's cache", isSure: false });
    await send("DEL", "pacewatch");
    await send("HSET", "pacewatch", "field", "value");
    const hash = await register.read();
    expect(hash).toMatchObject({ value: "not a string", isSure: false });
    await expect(register.write("ours", hash.version)).rejects.toThrow("WRONGTYPE");
    await send("SET", "pacewatch", "x".repeat(3 * MOST_BYTES));
    expect(await register.read()).toMatchObject({ value: "too long", isSure: false });
  });

test.skipIf(REDIS_SERVER === undefined).concurrent("a value of 256 KiB is kept", async () => {
  await using stack = new AsyncDisposableStack();
  const { register } = await start(stack);
  await write(register, "é".repeat(MOST_BYTES / 2));
  expect((await register.read()).value).toHaveLength(MOST_BYTES / 2);
});

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent("a user without the right to INFO is refused", async () => {
    await using stack = new AsyncDisposableStack();
    const { server, send } = await start(stack);
    const allowed = ["~pacewatch*", "+eval", "+get", "+set"];
    await send("ACL", "SETUSER", "poor", "on", ">test-password-1", ...allowed);
    await send("ACL", "SETUSER", "right", "on", ">test-password-2", ...allowed, "+info");
    const poor = await connect(server, stack, { username: "poor", password: "test-password-1" });
    await expect(poor.register.read()).rejects.toThrow(
      "NOPERM the lock needs the right to INFO: give its user +info",
    );
    const right = await connect(server, stack, { username: "right", password: "test-password-2" });
    await write(right.register, "ours");
  });
