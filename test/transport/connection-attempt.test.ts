import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { ConnectionAttempt } from "../../src/transport/connection-attempt.ts";
import { PhaseTimer } from "../../src/transport/phases.ts";
import { findRoute, type Names } from "../../src/transport/route.ts";
import { certificates } from "../support/certificates.ts";
import { sampleUpstream } from "../support/kernel-samples.ts";
import { NO_TLS_FILES, startUpstream } from "./polling.ts";
import { isSilent, namesBy, systemNames } from "../support/names.ts";

const made = certificates();

async function connect(
  url: string,
  lookup?: Names["addressesOf"],
): Promise<{ connection: ConnectionAttempt; ready: Promise<Socket | Error> }> {
  const tls = { ...NO_TLS_FILES, caFile: made.ca.certFile };
  const route = await findRoute(
    sampleUpstream({ url, tls }),
    {},
    systemClock,
    lookup === undefined ? systemNames : namesBy(lookup),
    () => {},
  );
  const { promise: ready, resolve } = Promise.withResolvers<Socket | Error>();
  const timer = new PhaseTimer(systemClock);
  return {
    connection: new ConnectionAttempt(route, timer, (error, socket) => resolve(error ?? socket)),
    ready,
  };
}

test.each([false, true])(
  "a connection is destroyed only when its socket has closed (over TLS: %s)",
  async (overTls) => {
    const identity = { cert: made.server.cert, key: made.server.key };
    const upstream = await startUpstream(() => {}, overTls ? { tls: identity } : {});
    const { connection, ready } = await connect(upstream.url);
    const socket = await ready;
    if (socket instanceof Error) throw socket;
    socket.write("half a request");
    let closed = false;
    socket.on("close", () => {
      closed = true;
    });
    const destroyed = connection.destroy();
    expect(closed).toBe(false);
    await destroyed;
    expect(closed).toBe(true);
    await upstream.idle();
  },
);

test("a connection that is destroyed in its handshake leaves no socket, and is never reported as ready", async () => {
  const upstream = await startUpstream(() => {});
  const { connection, ready } = await connect(upstream.url.replace("http:", "https:"));
  await expect.poll(() => upstream.open).toBe(1);
  await connection.destroy();
  await upstream.idle();
  expect(await Promise.race([ready, Promise.resolve("never")])).toBe("never");
});

test("a connection whose name is never resolved can be destroyed", async () => {
  const { connection, ready } = await connect("http://nowhere.test/", isSilent);
  await connection.destroy();
  expect(await Promise.race([ready, Promise.resolve("never")])).toBe("never");
});

test("a connection that failed is destroyed already", async () => {
  const upstream = await startUpstream((connection) => connection.end());
  const { connection, ready } = await connect(upstream.url.replace("http:", "https:"));
  expect(await ready).toBeInstanceOf(Error);
  await connection.destroy();
  await upstream.idle();
});
