import { describe, expect, test } from "vitest";
import { addressRulesOf } from "../../src/transport/address-rules.ts";
import type { Names } from "../../src/transport/route.ts";
import { leadsTo, namesBy } from "../support/names.ts";
import { answer } from "../support/raw-upstream.ts";
import { answeredOf, brokenOf, startProbe, startUpstream } from "./polling.ts";

const isDenied = (host: string, address: string, networks?: readonly string[]): boolean =>
  addressRulesOf(networks)(host, address) !== undefined;

describe("by default", () => {
  test.each([
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "100.100.100.200",
    "168.63.129.16",
    "64:ff9b::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2002:a83f:8110::",
    "::ffff:0:169.254.169.254",
    "2001:0:a9fe:a9fe::1",
    "2001:0:cb00:7105:0:0:5601:5601",
    "64:ff9b:1::169.254.169.254",
    "64:ff9b:1:2:3:4:a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00::",
    "64:ff9b:1:ffa9:fe:a9fe::",
    "64:ff9b:1:0:a9:fea9:fe00:0",
    "0.0.0.0",
    "::",
  ])("%s is reached by no name, and not as an address in the config", (address) => {
    expect(isDenied("api.example.test", address)).toBe(true);
    expect(isDenied(address, address)).toBe(true);
    expect(isDenied("localhost", address)).toBe(true);
  });

  test.each(["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"])(
    "%s is reached as localhost and as itself, and by no other name",
    (address) => {
      expect(isDenied("localhost", address)).toBe(false);
      expect(isDenied("api.localhost", address)).toBe(false);
      expect(isDenied(address, address)).toBe(false);
      expect(isDenied("api.example.test", address)).toBe(true);
      expect(isDenied("localhost.example.test", address)).toBe(true);
    },
  );

  test.each([
    "10.0.0.1",
    "192.168.1.1",
    "fd12::1",
    "203.0.113.5",
    "2001:db8::1",
    "64:ff9b::cb00:7105",
    "2002:cb00:7105::1",
    "::ffff:0:203.0.113.5",
    "2001:0:cb00:7105:0:0:34ff:8efa",
    "64:ff9b:1::203.0.113.5",
    "64:ff9b:1:cb00:71:500::",
  ])("%s is reached by any name: many watch what is inside", (address) =>
    expect(isDenied("api.internal", address)).toBe(false),
  );
});

test("what the config says takes the place of the default, without exceptions", () => {
  const networks = ["10.0.0.0/8", "127.0.0.1", "fd00::/8"];
  expect(isDenied("api.internal", "10.1.2.3", networks)).toBe(true);
  expect(isDenied("api.internal", "::ffff:10.1.2.3", networks)).toBe(true);
  expect(isDenied("api.internal", "64:ff9b::10.1.2.3", networks)).toBe(true);
  expect(isDenied("api.internal", "fd12::1", networks)).toBe(true);
  expect(isDenied("127.0.0.1", "127.0.0.1", networks)).toBe(true);
  expect(isDenied("api.internal", "127.0.0.2", networks)).toBe(false);
  expect(isDenied("api.internal", "169.254.169.254", networks)).toBe(false);
});

test("thousands of upstreams have one list between them, until the config has another", () => {
  expect(addressRulesOf(undefined)).toBe(addressRulesOf(undefined));
  expect(addressRulesOf(["10.0.0.0/8"])).toBe(addressRulesOf(["10.0.0.0/8"]));
  expect(addressRulesOf([])("api.internal", "10.1.2.3")).toBeUndefined();
  expect(addressRulesOf(["10.0.0.0/8"])("api.internal", "10.1.2.3")).toBeDefined();
  expect(addressRulesOf([])).not.toBe(addressRulesOf(undefined));
});

test("an address that is refused is named with the host that leads to it", () => {
  const rules = addressRulesOf(undefined);
  const pairs = [
    ["api.example.test", "127.0.0.1"],
    ["localhost", "127.0.0.1"],
    ["api.example.test", "203.0.113.5"],
    ["other.example.test", "127.0.0.1"],
    ["169.254.169.254", "169.254.169.254"],
  ] as const;
  const said = (host: string): string =>
    `no poll may connect to 127.0.0.1, the address of ${host}: see deny_addresses`;
  expect(pairs.map(([host, address]) => rules(host, address))).toEqual([
    said("api.example.test"),
    undefined,
    undefined,
    said("other.example.test"),
    "no poll may connect to 169.254.169.254: see deny_addresses",
  ]);
});

const leadingTo = (...addresses: readonly string[]): Names => namesBy(leadsTo(...addresses));

const greets = () =>
  startUpstream(async (connection) => {
    await connection.request();
    connection.end(answer("{}", ["Connection: close"]));
  });

const pollOf = async (...[changes, options]: Parameters<typeof startProbe>) =>
  (await startProbe(changes, options)).poll(new AbortController().signal);

test("a name that leads to this machine gets no connection, and the poll says why", async () => {
  const upstream = await greets();
  const observation = await pollOf(
    { url: `http://rebound.example.test:${upstream.port}/`, denyAddresses: undefined },
    { names: leadingTo("127.0.0.1") },
  );
  expect(brokenOf(observation)).toMatchObject({
    fault: "connect",
    sent: false,
    detail: "no poll may connect to 127.0.0.1, the address of rebound.example.test: see deny_addresses",
  });
  expect(upstream.connections).toBe(0);
});

test("of several addresses only those are tried that are allowed", async () => {
  const upstream = await greets();
  const observation = await pollOf(
    { url: `http://several.example.test:${upstream.port}/`, denyAddresses: ["::1", "127.0.0.2"] },
    { names: leadingTo("127.0.0.2", "127.0.0.1", "::1") },
  );
  expect(answeredOf(observation).head.status).toBe(200);
});

test("an address in the config is looked at too, its own and that of a proxy", async () => {
  const upstream = await greets();
  const denyAddresses = ["127.0.0.1"];
  const detail = "no poll may connect to 127.0.0.1: see deny_addresses";
  const direct = await pollOf({ url: upstream.url, denyAddresses });
  expect(brokenOf(direct)).toMatchObject({ fault: "connect", detail });
  const proxy = upstream.url;
  const proxied = await pollOf({ url: "http://api.example.test/", proxy, denyAddresses });
  expect(brokenOf(proxied)).toMatchObject({ fault: "connect", detail });
  const behind = await pollOf({ url: "http://169.254.169.254/", proxy, denyAddresses: undefined });
  expect(brokenOf(behind)).toMatchObject({
    fault: "connect",
    detail: "no poll may connect to 169.254.169.254: see deny_addresses",
  });
  expect(upstream.connections).toBe(0);
});

test("localhost is reached as ever", async () => {
  const upstream = await greets();
  const observation = await pollOf({ url: `http://localhost:${upstream.port}/`, denyAddresses: undefined });
  expect(answeredOf(observation).head.status).toBe(200);
});

test("the address that is looked at is the one that is connected to, whatever the resolver says the next time", async () => {
  const upstream = await greets();
  let lookups = 0;
  const rebinding = namesBy((name) => {
    lookups += 1;
    // Nobody listens at the first one.
    return leadsTo(lookups === 1 ? "127.0.0.2" : "127.0.0.1")(name);
  });
  const url = `http://rebound.example.test:${upstream.port}/`;
  const probe = await startProbe({ url, denyAddresses: ["127.0.0.1"] }, { names: rebinding });
  expect(brokenOf(await probe.poll(new AbortController().signal))).toMatchObject({
    fault: "connect",
    sent: false,
  });
  expect(lookups).toBe(1);
  expect(brokenOf(await probe.poll(new AbortController().signal)).detail).toContain(
    "no poll may connect to 127.0.0.1",
  );
  expect([lookups, upstream.connections]).toEqual([2, 0]);
});

test.each([
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "169.254.43518",
  "169.254.169.254.",
  "[::ffff:169.254.169.254]",
  "[64:ff9b::169.254.169.254]",
  "[2002:a9fe:a9fe::1]",
])("however the metadata service is written, it is refused: %s", async (host) => {
  const observation = await pollOf({ url: `http://${host}/`, denyAddresses: undefined });
  expect(brokenOf(observation)).toMatchObject({ fault: "connect", sent: false });
  expect(brokenOf(observation).detail).toMatch(/^no poll may connect to /);
});

test("a redirect to a refused address is told, and not followed", async () => {
  const target = await greets();
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.end(
      "HTTP/1.1 302 Found\r\nLocation: " + target.url + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
  });
  const observation = await pollOf({ url: upstream.url });
  expect(answeredOf(observation).head.status).toBe(302);
  expect(target.connections).toBe(0);
});
