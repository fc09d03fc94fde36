import { once } from "node:events";
import { connect, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";

const WATCHED = 20;

let upstream: SimulatedUpstream;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ name: "api", keepSeen: 1_000 });
});

afterAll(() => upstream[Symbol.asyncDispose]());

function configOf(changes: Partial<RawConfig> = {}): RawConfig {
  return {
    budgets: { api: { rate: { requests: 1_000_000, per: "1m" } } },
    upstreams: Array.from({ length: WATCHED }, (_, index) => rawUpstream(`api-${index}`, upstream.url)),
    ...changes,
  };
}

/** Asks with a name of its own; `fetch` allows none. */
async function ask(daemon: Daemon, head: string): Promise<string> {
  const { port } = new URL(daemon.url);
  const socket = connect(Number(port), "127.0.0.1");
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    answer += text;
    // Whatever else were to come would have come by now.
    socket.setTimeout(1_000);
  });
  socket.on("error", () => {});
  socket.setTimeout(10_000, () => socket.destroy());
  socket.write(head);
  await once(socket, "close");
  return answer;
}

const asking = (path: string, host: string, headers = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: close\r\n\r\n`;

async function statusFor(daemon: Daemon, host: string, path = "/metrics"): Promise<number> {
  return statusOf(await ask(daemon, asking(path, host)));
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
}

describe("a page of somebody else that points its name at this machine (DNS rebinding)", () => {
  it("reads nothing on a loopback address, as it asks by a name that is not ours", async () => {
    await using folder = await openConfigFolder(configOf({ web: { enable_lifecycle: true } }));
    await using daemon = await startDaemon({ configPath: folder.path });
    for (const host of ["localhost", "127.0.0.1:80", "[::1]", "LOCALHOST.:10429"]) {
      expect(await statusFor(daemon, host)).toBe(200);
    }
    for (const path of ["/", "/metrics", "/api/v1/config", "/api/v1/upstreams/api-0"]) {
      expect(await statusFor(daemon, "rebound.example", path)).toBe(421);
    }
    const posted = `POST /-/reload HTTP/1.1\r\nHost: rebound.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    expect(statusOf(await ask(daemon, posted))).toBe(421);
    expect(await statusFor(daemon, "10.1.2.3:10429", "/-/ready")).toBe(200);

    const allowed_hosts = ["status.example", "192.0.2.7"];
    await folder.write(configOf({ web: { enable_lifecycle: true, allowed_hosts } }));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    for (const host of ["status.example", "192.0.2.7:443", "localhost"]) {
      expect(await statusFor(daemon, host)).toBe(200);
    }
    expect(await statusFor(daemon, "rebound.example")).toBe(421);
  });

  it("is the operator's to name elsewhere: without a list, every name is served there", async () => {
    await using folder = await openConfigFolder(configOf());
    await using daemon = await startDaemon({ configPath: folder.path, listen: "0.0.0.0:0" });
    expect(await statusFor(daemon, "pacewatch.monitoring.svc")).toBe(200);
  });
});

describe("every answer", () => {
  it("says that it is not to be kept, framed, guessed at or told of, whatever it answers", async () => {
    await using folder = await openConfigFolder(configOf());
    await using daemon = await startDaemon({ configPath: folder.path });
    const requests = [
      ...[
        "/",
        "/upstreams/api-0",
        "/metrics",
        "/-/healthy",
        "/api/v1/upstreams",
        "/api/v1/config",
        "/nowhere",
      ].map((path) => asking(path, "localhost")),
      asking("/", "rebound.example"),
      asking("/", "localhost", "Content-Length: 1\r\n"),
      asking("/", "localhost").replace("GET", "DELETE"),
    ];
    const answers = await Promise.all(requests.map((request) => ask(daemon, request)));
    expect(answers.map(statusOf)).toEqual([200, 200, 200, 200, 200, 200, 404, 421, 413, 405]);
    for (const answer of answers) {
      const head = answer.slice(0, answer.indexOf("\r\n\r\n")).toLowerCase();
      expect(head).toContain("\r\ncache-control: no-store");
      expect(head).toContain("\r\nx-content-type-options: nosniff");
      expect(head).toContain("\r\nreferrer-policy: no-referrer");
      expect(head).toMatch(/\r\ncontent-security-policy: default-src 'none'.*frame-ancestors 'none'/);
      expect(head).not.toContain("script-src");
      // Neither who made it nor how new it is.
      expect(head).not.toMatch(/\r\n(server|x-powered-by|etag|access-control-)/);
    }
  });
});

describe("nobody at the door", () => {
  it("can make it ask for an address of their choice", async () => {
    const lure = createServer((socket) => socket.destroy());
    let lured = 0;
    lure.on("connection", () => (lured += 1));
    lure.listen(0, "127.0.0.1");
    await once(lure, "listening");
    const address = lure.address();
    const there = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    await using folder = await openConfigFolder(
      configOf({ web: { enable_lifecycle: true, allowed_hosts: ["*"] } }),
    );
    await using daemon = await startDaemon({ configPath: folder.path });
    const before = upstream.seen.length;

    const paths = ["/probe", "/metrics", "/", "/api/v1/upstreams", "/-/reload", "/upstreams/api-0"];
    const queries = ["target", "url", "upstream", "base_url", "config", "proxy", "redirect"];
    const requests = [
      ...paths.map((path) => asking(`http://${there}${path}`, there)),
      ...paths.map((path) =>
        asking(path, there, `X-Forwarded-Host: ${there}\r\nForwarded: host=${there}\r\n`),
      ),
      ...queries.map((name) => asking(`/metrics?${name}=http://${there}/`, "localhost")),
      ...queries.map((name) => asking(`/probe?${name}=${there}`, "localhost")),
      asking(`/upstreams/${encodeURIComponent(`http://${there}/`)}`, "localhost"),
      `CONNECT ${there} HTTP/1.1\r\nHost: ${there}\r\n\r\n`,
      `POST /-/reload?config=http://${there}/ HTTP/1.1\r\nHost: ${there}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    ];
    await Promise.all(requests.map((request) => ask(daemon, request)));
    await eventually(
      "polls go on",
      () => upstream.seen.length,
      (seen) => seen > before + WATCHED,
    );
    expect(lured).toBe(0);
    expect(new Set(upstream.seen.map(({ target }) => target))).toEqual(new Set(["/v1/resources"]));
    lure.close();
    await once(lure, "close");
  });
});
