import { expect, test } from "vitest";
import { certificates } from "../support/certificates.ts";
import { answer } from "../support/raw-upstream.ts";
import {
  NO_TLS_FILES,
  SHORT_MS,
  answeredOf,
  brokenOf,
  headRead,
  startProbe,
  startUpstream,
} from "./polling.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const signal = new AbortController().signal;

test("a kept connection is used again, and has no phases of connecting", async () => {
  const made = certificates();
  const upstream = await startUpstream(
    async (connection) => {
      while ((await connection.request()) !== undefined) connection.write(answer("{}"));
    },
    { tls: { cert: made.server.cert, key: made.server.key } },
  );
  const tls = { ...NO_TLS_FILES, caFile: made.ca.certFile };
  const probe = await startProbe({ url: upstream.url, connection: "reuse", tls });
  const first = await probe.poll(signal);
  expect(Object.keys(first.phasesMs)).toEqual(["connect", "tls", "wait", "transfer"]);
  for (let poll = 0; poll < 3; poll += 1) {
    const next = await probe.poll(signal);
    expect(Object.keys(next.phasesMs)).toEqual(["wait", "transfer"]);
    expect(next.certificateExpiresAtMs).toBe(made.expiresAtMs);
  }
  expect(upstream.connections).toBe(1);
  expect(upstream.requests[1]).toContain("connection: keep-alive");
  await probe.close();
  await upstream.idle();
});

test("when the upstream has closed the idle connection, the next poll makes another, and asks once", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.end(answer("{}"));
  });
  const probe = await startProbe({ url: upstream.url, connection: "reuse" });
  await probe.poll(signal);
  await upstream.idle();
  const next = await probe.poll(signal);
  expect(answeredOf(next).head.status).toBe(200);
  expect(Object.keys(next.phasesMs)).toEqual(["connect", "wait", "transfer"]);
  expect(upstream.requests).toHaveLength(2);
});

test.each(["end", "reset"] as const)(
  "a request on a kept connection that dies under it by %s is not sent a second time",
  async (death) => {
    const upstream = await startUpstream(async (connection) => {
      await connection.request();
      connection.write(answer("{}"));
      await connection.request();
      connection[death]();
    });
    const probe = await startProbe({ url: upstream.url, connection: "reuse" });
    await probe.poll(signal);
    const next = await probe.poll(signal);
    expect(brokenOf(next)).toMatchObject({ fault: "reset", sent: true });
    await upstream.idle();
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.connections).toBe(1);
  },
);

test("whenever idle connections close, each poll sends at most one request", async () => {
  const upstream = await startUpstream(async (connection) => {
    while ((await connection.request()) !== undefined) {
      const isRead = headRead();
      connection.write(answer("{}"));
      await isRead;
      const waitMs = connection.index % 4;
      setTimeout(() => (connection.index % 2 === 0 ? connection.end() : connection.reset()), waitMs);
    }
  });
  const probe = await startProbe({ url: upstream.url, connection: "reuse" });
  const faults = new Set<string>();
  let sent = 0;
  for (let poll = 0; poll < 300; poll += 1) {
    const { exchange } = await probe.poll(signal);
    if (exchange.kind === "answered" || exchange.sent) sent += 1;
    if (exchange.kind === "broken") faults.add(exchange.fault);
    if (poll % 5 !== 0) await new Promise((resolve) => setTimeout(resolve, poll % 5));
  }
  await upstream.idle();
  expect([...faults].filter((fault) => fault !== "reset")).toEqual([]);
  // What was written into a connection that the upstream had closed already was sent, but it never read it.
  expect(upstream.requests.length).toBeLessThanOrEqual(sent);
  // After a break the next poll has a connection of its own, which lives until it is answered.
  expect(upstream.requests.length).toBeGreaterThanOrEqual(150);
});

test("what came before on a kept connection is no part of an answer's length", async () => {
  const header = `X-Padding: ${"x".repeat(15_000)}`;
  const polls = 100;
  const upstream = await startUpstream(async (connection) => {
    for (let poll = 1; (await connection.request()) !== undefined; poll += 1) {
      // The last one takes so long that its length is looked at.
      if (poll === polls) await new Promise((resolve) => setTimeout(resolve, SHORT_MS));
      connection.write(answer("{}", [header]));
    }
  });
  const expectation = { status: [200], json: true, maxBodyBytes: 1_000 };
  const probe = await startProbe({ url: upstream.url, connection: "reuse", expect: expectation });
  for (let poll = 0; poll < polls; poll += 1) answeredOf(await probe.poll(signal));
  expect(upstream.connections).toBe(1);
});

test("an answer that nobody asked for is not taken for the next one", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("[1]") + (connection.index === 0 ? answer("[666]") : ""));
  });
  const probe = await startProbe({ url: upstream.url, connection: "reuse" });
  for (let poll = 0; poll < 2; poll += 1) {
    expect(Buffer.from(answeredOf(await probe.poll(signal)).body).toString()).toBe("[1]");
  }
  expect(upstream.connections).toBe(2);
});

test("after a break the next poll starts with a new connection", async () => {
  const clock = new VirtualClock();
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    if (connection.index > 0) connection.write(answer("{}"));
    else clock.stall(SHORT_MS);
  });
  const changes = { url: upstream.url, connection: "reuse", timeoutMs: SHORT_MS } as const;
  const probe = await startProbe(changes, { clock });
  expect(brokenOf(await probe.poll(signal)).fault).toBe("timeout");
  await upstream.idle();
  expect((await probe.poll(signal)).exchange.kind).toBe("answered");
  expect(upstream.connections).toBe(2);
});

test("where the upstream has gone meanwhile, a poll without a connection has sent nothing", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.end(answer("{}"));
  });
  const probe = await startProbe({ url: upstream.url, connection: "reuse" });
  await probe.poll(signal);
  await upstream.idle();
  await upstream.close();
  expect(brokenOf(await probe.poll(signal))).toMatchObject({ fault: "connect", sent: false });
});
