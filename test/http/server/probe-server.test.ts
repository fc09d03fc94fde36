import { expect, test } from "vitest";
import { type RunningServer, type StartOptions } from "../../../src/http/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { aRequest, connectRaw } from "../raw-client.ts";
import { openServer } from "../open-server.ts";

async function start(over: Partial<StartOptions> = {}): Promise<RunningServer> {
  return openServer({ probes: { host: "127.0.0.1", port: 0 }, ...over });
}

test("probes are answered at an address of their own, and nothing else is", async () => {
  let isReady = false;
  const { probesUrl, url } = await start({ ready: () => isReady });
  const ask = async (path: string, method = "GET"): Promise<readonly [number, string]> => {
    const answer = await fetch(`${probesUrl}${path}`, { method });
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    return [answer.status, await answer.text()];
  };
  expect(probesUrl).not.toBe(url);
  expect(await ask("/-/healthy")).toEqual([200, "healthy\n"]);
  expect(await ask("/-/ready?verbose=1")).toEqual([503, "not ready\n"]);
  isReady = true;
  expect(await ask("/-/ready")).toEqual([200, "ready\n"]);
  expect(await ask("/-/ready", "HEAD")).toEqual([200, ""]);
  expect((await ask("/-/reload", "POST"))[0]).toBe(404);
  expect((await ask("/-/healthy", "POST"))[0]).toBe(405);
  for (const path of ["/", "/metrics", "/api/v1/config"]) expect((await ask(path))[0]).toBe(404);
  await using expecting = await connectRaw(probesUrl ?? "");
  expecting.send(aRequest("/-/healthy", ["Expect: x"]));
  expect(await expecting.ended).toMatch(/^HTTP\/1\.1 417 [^]*nosniff/);
  // The first address still has them.
  expect((await fetch(`${url}/-/ready`)).status).toBe(200);
});

test("silent connections at the probes' address keep no probe out", async () => {
  const { probesUrl = "" } = await start({ limits: { maxConnections: 5 } });
  const silent = await Promise.all(Array.from({ length: 20 }, () => connectRaw(probesUrl)));
  expect((await fetch(`${probesUrl}/-/healthy`)).status).toBe(200);
  for (const client of silent) await client[Symbol.asyncDispose]();
});

test("a flood at the probes' address takes only a few of the files that polls need", async () => {
  const { probesUrl = "" } = await start();
  const silent = await Promise.all(Array.from({ length: 100 }, () => connectRaw(probesUrl)));
  expect((await fetch(`${probesUrl}/-/healthy`)).status).toBe(200);
  await eventually(
    "most of them are closed",
    () => silent.filter(({ socket }) => !socket.destroyed).length,
    (open) => open <= 8,
  );
  for (const client of silent) await client[Symbol.asyncDispose]();
});

test("a probes' address that is taken is refused, and the first one is let go", async () => {
  const taken = await start();
  const port = Number(new URL(taken.probesUrl ?? "").port);
  await expect(start({ probes: { host: "127.0.0.1", port } })).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: the address is already in use. Set another one with web.probe_listen`,
  );
  const free = await start();
  await free.close();
  await expect(start({ probes: undefined, port: Number(new URL(free.url).port) })).resolves.toMatchObject({
    probesUrl: undefined,
  });
});
