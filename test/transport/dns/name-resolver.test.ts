import type { LookupAddress } from "node:dns";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type AskSystem,
  candidatesOf,
  hasGlobalIPv6,
  NameResolver,
} from "../../../src/transport/dns/name-resolver.ts";
import { nameReader } from "../../../src/transport/dns/system-files.ts";
import { codeOf } from "../../../src/kernel/text/escape.ts";
import { type NameAnswer, NameServer } from "../../support/name-server.ts";

const LIVE: NameAnswer = { kind: "addresses", ipv4: ["127.0.0.7"], ttlSeconds: 30 };

const NO_SYSTEM: AskSystem = () =>
  Promise.reject(Object.assign(new Error("the system was asked"), { code: "EAI_FAIL" }));

class World implements AsyncDisposable {
  nowMs = 0;
  readonly server: NameServer;
  readonly resolver: NameResolver;
  readonly #folder: string;

  private constructor(server: NameServer, folder: string, askSystem: AskSystem) {
    this.server = server;
    this.#folder = folder;
    const names = nameReader({
      hosts: join(folder, "hosts"),
      resolvConf: join(folder, "resolv.conf"),
      nsswitch: join(folder, "nsswitch.conf"),
    });
    const clock = { now: () => this.nowMs };
    this.resolver = new NameResolver({ clock, names, servers: [server.address], askSystem });
  }

  static async start(
    answerOf: (name: string, type: "A" | "AAAA") => NameAnswer,
    files: Readonly<Record<string, string>> = {},
    askSystem: AskSystem = NO_SYSTEM,
  ): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), "pacewatch-names-"));
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return new World(await NameServer.start(answerOf), folder, askSystem);
  }

  write(file: string, text: string): Promise<void> {
    return writeFile(join(this.#folder, file), text);
  }

  /** Its addresses, or the code of the error. */
  async lookup(name: string): Promise<readonly string[] | string> {
    try {
      return (await this.resolver.addressesOf(name)).map(({ address }) => address);
    } catch (error) {
      return codeOf(error) ?? "no code";
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true });
  }
}

test("names whose server is silent do not hold up the one that is answered", async () => {
  await using world = await World.start((name) => (name.startsWith("dead") ? { kind: "silent" } : LIVE));
  let answered = 0;
  for (let index = 0; index < 20; index += 1)
    void world.lookup(`dead${index}.test`).then(() => (answered += 1));
  expect(await world.lookup("live.test")).toEqual(["127.0.0.7"]);
  expect(await world.lookup("localhost")).toEqual(["127.0.0.1", "::1"]);
  expect(answered).toBe(0);
});

test("a name below localhost is this machine, and one that only looks like it is asked for", async () => {
  await using world = await World.start(() => LIVE);
  expect(await world.resolver.addressesOf("api.localhost")).toEqual([
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ]);
  expect(await world.lookup("localhost.")).toEqual(["127.0.0.1", "::1"]);
  expect(world.server.asked).toEqual([]);
  expect(await world.lookup("notlocalhost.test")).toEqual(["127.0.0.7"]);
});

test("a name without a dot is tried inside of the search domains first, where the system says nothing else", async () => {
  await using world = await World.start(() => LIVE, { "resolv.conf": "search one.test\n" });
  expect(await world.lookup("api")).toEqual(["127.0.0.7"]);
  expect(world.server.asked.toSorted()).toEqual(["A api.one.test", "AAAA api.one.test"]);
});

test("one question is in flight for each name, whoever asks", async () => {
  await using world = await World.start(() => LIVE);
  const answers = await Promise.all([1, 2, 3].map(() => world.lookup("api.test")));
  expect(answers).toEqual([["127.0.0.7"], ["127.0.0.7"], ["127.0.0.7"]]);
  expect(world.server.asked.toSorted()).toEqual(["A api.test", "AAAA api.test"]);
});

test("an answer serves until its TTL ends, or its address did not answer", async () => {
  await using world = await World.start(() => LIVE);
  await world.lookup("api.test");
  world.nowMs = 29_999;
  await world.lookup("API.test");
  expect(world.server.asked).toHaveLength(2);
  world.nowMs = 30_000;
  await world.lookup("api.test");
  expect(world.server.asked).toHaveLength(4);
  world.resolver.forget("api.test");
  await world.lookup("api.test");
  expect(world.server.asked).toHaveLength(6);
});

test("of a name with more addresses than anybody could try, the first are tried", async () => {
  const ipv4 = Array.from({ length: 40 }, (_, index) => `127.0.0.${index + 1}`);
  await using world = await World.start(() => ({ kind: "addresses", ipv4, ttlSeconds: 30 }));
  expect(await world.lookup("api.test")).toEqual(ipv4.slice(0, 32));
});

test("an answer without a TTL serves nobody else, and a failure is asked again", async () => {
  await using world = await World.start((name) =>
    name === "none.test" ? { kind: "failing" } : { ...LIVE, ttlSeconds: 0 },
  );
  for (const name of ["api.test", "none.test"]) {
    const before = world.server.asked.length;
    await world.lookup(name);
    const once = world.server.asked.length - before;
    await world.lookup(name);
    expect(world.server.asked.length - before).toBe(2 * once);
  }
  expect(await world.lookup("none.test")).toBe("ESERVFAIL");
});

test("one family does not wait for a server that is silent about the other", async () => {
  await using world = await World.start((name, type) =>
    type === "A" && name !== "dead.test" ? LIVE : { kind: "silent" },
  );
  let isDeadAnswered = false;
  void world.lookup("dead.test").then(() => (isDeadAnswered = true));
  expect(await world.lookup("api.test")).toEqual(["127.0.0.7"]);
  expect(isDeadAnswered).toBe(false);
  expect(world.server.asked.filter((question) => question === "AAAA api.test")).toHaveLength(1);
});

test("when the name servers may be others, what they said before is asked anew", async () => {
  await using world = await World.start(() => LIVE, { "resolv.conf": "options ndots:1\n" });
  await world.lookup("api.test");
  await world.write("resolv.conf", "options ndots:1 # and more\n");
  await world.lookup("other.test");
  await world.lookup("api.test");
  expect(world.server.asked).toHaveLength(6);
  await world.lookup("another.test");
  await world.lookup("api.test");
  expect(world.server.asked).toHaveLength(8);
});

test("the hosts file comes first, and is read anew when it changes", async () => {
  await using world = await World.start(() => LIVE, {
    hosts: "10.0.0.9 api.test api # ours\n::9 api.test\n",
  });
  expect(await world.lookup("api.test")).toEqual(["10.0.0.9", "::9"]);
  expect(await world.lookup("API")).toEqual(["10.0.0.9"]);
  await world.write("hosts", "10.0.0.10 api.test\n");
  expect(await world.lookup("api.test")).toEqual(["10.0.0.10"]);
  expect(world.server.asked).toEqual([]);
});

test("a short name is looked for in the search domains, as pods do", async () => {
  await using world = await World.start(
    (name) => (name === "redis.cache.svc.cluster.local" ? LIVE : { kind: "unknown" }),
    { "resolv.conf": "search default.svc.cluster.local svc.cluster.local\noptions ndots:5\n" },
  );
  expect(await world.lookup("redis.cache")).toEqual(["127.0.0.7"]);
  expect(await world.lookup("nowhere")).toBe("ENOTFOUND");
});

test.each([
  ["api", 1, ["api.one.test", "api.two.test", "api"]],
  ["api.example", 1, ["api.example", "api.example.one.test", "api.example.two.test"]],
  ["api.example", 5, ["api.example.one.test", "api.example.two.test", "api.example"]],
  ["api.example.", 5, ["api.example"]],
  ["nowhere.invalid", 1, []],
])("%s with ndots %i is asked as %j", (name, ndots, candidates) => {
  expect(candidatesOf(name, { search: ["one.test", "two.test"], ndots })).toEqual(candidates);
});

test("the system is asked only where it has more sources, and one name at a time", async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const askSystem: AskSystem = (name) => {
    const { promise, resolve } = Promise.withResolvers<LookupAddress[]>();
    asked.push(name);
    answers.push(() => resolve([{ address: "192.0.2.1", family: 4 }]));
    return promise;
  };
  await using world = await World.start(
    () => ({ kind: "unknown" }),
    { "nsswitch.conf": "hosts: files mdns4_minimal [NOTFOUND=return] dns\n" },
    askSystem,
  );
  const printer = world.lookup("printer.local");
  const scanner = world.lookup("scanner.local");
  await expect.poll(() => answers.length).toBe(1);
  answers.shift()?.();
  expect(await printer).toEqual(["192.0.2.1"]);
  await expect.poll(() => answers.length).toBe(1);
  answers.shift()?.();
  expect(await scanner).toEqual(["192.0.2.1"]);
  expect(asked.toSorted()).toEqual(["printer.local", "scanner.local"]);
});

test.each([["hosts: files dns\n"], ["hosts: files resolve [!UNAVAIL=return] dns\n"], [""]])(
  "with %j the system knows no more than we do",
  async (nsswitch) => {
    await using world = await World.start(() => ({ kind: "unknown" }), { "nsswitch.conf": nsswitch });
    expect(await world.lookup("printer.test")).toBe("ENOTFOUND");
  },
);

test.each([
  ["a global address", "2001:db8::5", false, true],
  ["the address of its link", "fe80::5", false, false],
  ["an address of a private network, as of containers", "fd12:3456::5", false, false],
  ["an address of an overlay network", "200:1234::5", false, false],
  ["no other address than its own", "::1", true, false],
  ["a global address that only it itself reaches", "2001:db8::6", true, false],
])("IPv6 is tried first where the machine has %s: %s, internal %s, %s", (_, address, internal, isFirst) => {
  const own = { netmask: "ffff:ffff:ffff:ffff::", mac: "00:00:00:00:00:00", scopeid: 0, cidr: null };
  expect(hasGlobalIPv6({ eth0: [{ ...own, address, family: "IPv6", internal }] })).toBe(isFirst);
});
