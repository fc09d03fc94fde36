import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { chooseProxy } from "../../src/transport/proxy.ts";
import { certificates } from "../support/certificates.ts";
import { answer, type RawUpstream, type Script } from "../support/raw-upstream.ts";
import {
  NO_TLS_FILES,
  SHORT_MS,
  answeredOf,
  brokenOf,
  pollOnce,
  startProbe,
  startUpstream,
} from "./polling.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const made = certificates();
const trusting = { ...NO_TLS_FILES, caFile: made.ca.certFile };
const secret = { env: "X" } as const;
const withKey = { auth: { kind: "bearer", secret } } as const;
const credential = (): Promise<string> => Promise.resolve("test-key-upstream");

const greets: Script = async (connection) => {
  await connection.request();
  connection.write(answer("{}"));
};

/** Accepts CONNECT and passes bytes on to this upstream. */
const passesTo =
  (upstream: RawUpstream, status = "200 Connection established"): Script =>
  async (connection) => {
    await connection.request();
    connection.write(`HTTP/1.1 ${status}\r\nVia: test\r\n\r\n`);
    const onward = connect(upstream.port, "127.0.0.1").on("error", () => connection.reset());
    connection.socket.pipe(onward).pipe(connection.socket);
    await connection.closed;
    onward.destroy();
  };

const startSecure = (script = greets): Promise<RawUpstream> =>
  startUpstream(script, { tls: { cert: made.server.cert, key: made.server.key } });

const over = (proxy: RawUpstream, user = ""): string => proxy.url.replace("://", `://${user}`);

test("plain requests go to the proxy with their whole address", async () => {
  const proxy = await startUpstream(greets);
  const observation = await pollOnce(
    proxy,
    { url: "http://upstream.test:8080/v1/resources?a=1", proxy: over(proxy), ...withKey },
    { credential },
  );
  expect(answeredOf(observation).head.status).toBe(200);
  expect(proxy.requests[0]).toContain(
    "GET http://upstream.test:8080/v1/resources?a=1 HTTP/1.1\r\nhost: upstream.test:8080",
  );
  expect(Object.keys(observation.phasesMs)).toEqual(["connect", "wait", "transfer"]);
});

test("encrypted requests go through a tunnel, in which the proxy sees nothing of them", async () => {
  const upstream = await startSecure();
  const proxy = await startUpstream(passesTo(upstream));
  const observation = await pollOnce(
    upstream,
    { proxy: over(proxy), tls: trusting, ...withKey },
    { credential },
  );
  expect(answeredOf(observation).head.status).toBe(200);
  expect(observation.certificateExpiresAtMs).toBe(made.expiresAtMs);
  expect(Object.keys(observation.phasesMs)).toEqual(["connect", "tls", "wait", "transfer"]);
  expect(proxy.requests).toEqual([
    `CONNECT 127.0.0.1:${upstream.port} HTTP/1.1\r\nHost: 127.0.0.1:${upstream.port}`,
  ]);
  expect(upstream.requests[0]).toContain("Authorization: Bearer test-key-upstream");
  await proxy.idle();
});

test("the connection to a proxy may use TLS", async () => {
  const upstream = await startSecure();
  const proxy = await startSecure(passesTo(upstream));
  const observation = await pollOnce(upstream, { proxy: over(proxy), tls: trusting });
  expect(answeredOf(observation).head.status).toBe(200);
  await proxy.idle();
});

test("a proxy whose certificate nobody vouches for is given nothing, even where Node.js is told to trust anybody", async () => {
  const proxy = await startSecure();
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  onTestFinished(() => void delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]);
  const url = "http://upstream.test/";
  const observation = await pollOnce(proxy, { url, proxy: over(proxy), ...withKey }, { credential });
  expect(brokenOf(observation)).toMatchObject({ fault: "connect", sent: false });
  expect(proxy.requests).toEqual([]);
});

test.each<[string, Script, string]>([
  [
    "refuses",
    async (connection) => {
      await connection.request();
      connection.write("HTTP/1.1 403 Forbidden\r\n\r\n");
    },
    "the proxy answered 403 to CONNECT",
  ],
  [
    "wants credentials",
    async (connection) => {
      await connection.request();
      connection.write("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    },
    "the proxy answered 407 to CONNECT",
  ],
  [
    "cannot reach the upstream",
    async (connection) => {
      await connection.request();
      connection.write("HTTP/1.0 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nno.");
    },
    "the proxy answered 502 to CONNECT",
  ],
  [
    "is no proxy",
    (connection) => connection.write("220 mail.test ESMTP\r\n\r\n"),
    "the proxy's answer to CONNECT is not HTTP",
  ],
  [
    "never ends its answer",
    (connection) => connection.write(`HTTP/1.1 200 OK\r\n${"x".repeat(20_000)}`),
    "the proxy's answer to CONNECT is too long",
  ],
  [
    "hangs up",
    async (connection) => {
      await connection.request();
      connection.end();
    },
    "the proxy closed the connection before it answered CONNECT",
  ],
  [
    "resets",
    async (connection) => {
      await connection.request();
      connection.reset();
    },
    "ECONNRESET",
  ],
])("a proxy that %s is no connection, and nothing was sent", async (_does, script, detail) => {
  const proxy = await startUpstream(script);
  const probe = await startProbe({ url: "https://upstream.test/", proxy: over(proxy) });
  const broken = brokenOf(await probe.poll(new AbortController().signal));
  expect(broken).toMatchObject({ fault: "connect", sent: false });
  expect(broken.detail).toContain(detail);
  await proxy.idle();
});

test("a proxy that never answers CONNECT is given up at the deadline", async () => {
  const clock = new VirtualClock();
  const proxy = await startUpstream(async (connection) => {
    await connection.request();
    clock.stall(SHORT_MS);
  });
  const changes = { url: "https://upstream.test/", proxy: over(proxy), timeoutMs: SHORT_MS };
  const probe = await startProbe(changes, { clock });
  const broken = brokenOf(await probe.poll(new AbortController().signal));
  expect(broken).toMatchObject({ fault: "timeout", sent: false });
  expect(broken.detail).toContain("while connecting");
  await proxy.idle();
});

test("an upstream that breaks TLS behind a tunnel is reported as without one", async () => {
  const upstream = await startUpstream((connection) => connection.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const proxy = await startUpstream(passesTo(upstream));
  const url = upstream.url.replace("http:", "https:");
  expect(brokenOf(await pollOnce(upstream, { url, proxy: over(proxy) })).fault).toBe("tls");
  const clock = new VirtualClock();
  const silent = await startUpstream(({ socket }) => void socket.once("data", () => clock.stall(SHORT_MS)));
  const toSilent = await startUpstream(passesTo(silent));
  const changes = {
    url: silent.url.replace("http:", "https:"),
    proxy: over(toSilent),
    timeoutMs: SHORT_MS,
  };
  const stalled = await pollOnce(silent, changes, { clock });
  expect(brokenOf(stalled).detail).toContain("while in the TLS handshake");
  await toSilent.idle();
});

test("the proxy's own credentials go to the proxy alone, and come out nowhere", async () => {
  const upstream = await startSecure();
  const tunnel = await startUpstream(passesTo(upstream));
  const environment = { https_proxy: tunnel.url.replace("://", "://robot:test%2Fpass@") };
  await pollOnce(upstream, { proxy: "env", tls: trusting }, { environment });
  const pair = Buffer.from("robot:test/pass").toString("base64");
  expect(tunnel.requests[0]).toContain(`Proxy-Authorization: Basic ${pair}`);
  expect(upstream.requests[0]).not.toMatch(/proxy-authorization/i);

  const refusing = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("", [], "407 robot:test/pass"));
  });
  const observation = await pollOnce(
    refusing,
    { url: "http://upstream.test/", proxy: "env" },
    { environment: { http_proxy: refusing.url.replace("://", "://robot:test%2Fpass@") } },
  );
  expect(refusing.requests[0]).toContain(`Proxy-Authorization: Basic ${pair}`);
  expect(brokenOf(observation)).toMatchObject({ fault: "connect", head: undefined });
  expect(JSON.stringify(observation)).not.toContain("test/pass");
});

test.each<[string, Record<string, string>, string | undefined]>([
  ["http://api.test/", { http_proxy: "http://one:1" }, "one:1"],
  ["https://api.test/", { http_proxy: "http://one:1" }, undefined],
  ["https://api.test/", { HTTPS_PROXY: "http://one:1" }, "one:1"],
  ["https://api.test/", { https_proxy: "http://low:1", HTTPS_PROXY: "http://up:2" }, "low:1"],
  ["https://api.test/", { https_proxy: "", all_proxy: "http://all:3" }, "all:3"],
  ["https://api.test/", { ALL_PROXY: "all.test:3128" }, "all.test:3128"],
  ["https://api.test/", { all_proxy: "http://all" }, "all:80"],
  ["https://api.test/", { all_proxy: "https://all" }, "all:443"],
  ["https://api.test/", { all_proxy: "http://[::1]:3128" }, "::1:3128"],
])("%s with %j goes through %s", (url, environment, expected) => {
  const proxy = chooseProxy("env", new URL(url), environment);
  expect(proxy === undefined ? undefined : `${proxy.host}:${proxy.port}`).toBe(expected);
});

test.each<[string, string, boolean]>([
  ["*", "http://api.test/", true],
  ["api.test", "http://api.test/", true],
  ["API.Test", "http://api.test/", true],
  ["test", "http://api.test/", true],
  [".test", "http://api.test/", true],
  ["*.test", "http://api.test/", true],
  ["pi.test", "http://api.test/", false],
  ["api.test", "http://api.test.example/", false],
  ["api.test", "http://other.test/", false],
  ["a.test, api.test", "http://api.test/", true],
  ["a.test api.test", "http://api.test/", true],
  ["api.test:80", "http://api.test/", true],
  ["api.test:443", "https://api.test/", true],
  ["api.test:8080", "http://api.test/", false],
  ["api.test", "http://api.test:8080/", true],
  ["api.test.", "http://api.test/", true],
  ["127.0.0.1", "http://127.0.0.1:9/", true],
  ["127.0.0.1:10", "http://127.0.0.1:9/", false],
  ["7.0.0.1", "http://127.0.0.1/", false],
  ["10.0.0.0/8", "http://10.1.2.3/", true],
  ["10.0.0.0/8", "http://11.1.2.3/", false],
  ["10.0.0.0/99", "http://10.1.2.3/", false],
  ["10.0.0.0/8", "http://ten.test/", false],
  ["::1", "http://[::1]:9/", true],
  ["[::1]", "http://[::1]:9/", true],
  ["[::1]:9", "http://[::1]:9/", true],
  ["[::1]:8", "http://[::1]:9/", false],
  ["fd00::/8", "http://[fd00::1]/", true],
  ["", "http://api.test/", false],
  [" , ,", "http://api.test/", false],
])('no_proxy "%s" for %s: %s', (list, url, exempt) => {
  const environment = { all_proxy: "http://proxy:1", no_proxy: list };
  expect(chooseProxy("env", new URL(url), environment) === undefined).toBe(exempt);
});

test("a proxy in the config goes before the environment, and none means none", () => {
  const environment = { all_proxy: "http://env:1", no_proxy: "*" };
  const url = new URL("http://api.test/");
  expect(chooseProxy("http://own:2", url, environment)?.host).toBe("own");
  expect(chooseProxy("none", url, { all_proxy: "http://env:1" })).toBeUndefined();
});

test.each(["socks5://user:test-pass@proxy:1", "http://user:test-pass@pro xy", "http://user:test-pass@"])(
  "a proxy that cannot be used is refused without its password",
  (address) => {
    const choose = (): unknown => chooseProxy("env", new URL("http://api.test/"), { http_proxy: address });
    expect(choose).toThrow('cannot use the proxy: "http_proxy" must be an http or https URL');
    expect(choose).not.toThrow(/test-pass/);
  },
);
