import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { answer } from "../support/raw-upstream.ts";
import { answeredOf, brokenOf, startProbe, startUpstream } from "./polling.ts";

const signal = new AbortController().signal;

test("where the right to send ends while connecting, nothing is sent", async () => {
  const upstream = await startUpstream(async (connection) => {
    if ((await connection.request()) !== undefined) connection.end(answer("{}"));
  });
  const probe = await startProbe({ url: upstream.url });
  const asked: number[] = [];
  const mayWrite = (): boolean => {
    asked.push(upstream.connections);
    return false;
  };
  const observation = await probe.poll(signal, mayWrite);
  expect(brokenOf(observation)).toMatchObject({ fault: "timeout", sent: false });
  expect(asked).toHaveLength(1);
  await upstream.idle();
  expect(upstream.requests).toHaveLength(0);
});

test("where the right to send ends, a kept connection gets no request, and the next poll works", async () => {
  const upstream = await startUpstream(async (connection) => {
    while ((await connection.request()) !== undefined) connection.write(answer("{}"));
  });
  const probe = await startProbe({ url: upstream.url, connection: "reuse" });
  await probe.poll(signal, () => true);
  expect(brokenOf(await probe.poll(signal, () => false))).toMatchObject({ fault: "timeout", sent: false });
  expect(answeredOf(await probe.poll(signal, () => true)).head.status).toBe(200);
  expect(upstream.requests).toHaveLength(2);
  await probe.close();
  await upstream.idle();
});

test("where the time of a poll ran out while this process stood still, nothing is sent", async () => {
  const upstream = await startUpstream(async (connection) => {
    if ((await connection.request()) !== undefined) connection.end(answer("{}"));
  });
  let stoodStillMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + stoodStillMs };
  const probe = await startProbe({ url: upstream.url, timeoutMs: 10_000 }, { clock });
  const mayWrite = (): boolean => {
    stoodStillMs = 7_200_000;
    return true;
  };
  const observation = await probe.poll(signal, mayWrite);
  expect(brokenOf(observation)).toMatchObject({
    fault: "timeout",
    detail: "timed out after 10000 ms while connecting",
    sent: false,
  });
  await upstream.idle();
  expect(upstream.requests).toHaveLength(0);
});
