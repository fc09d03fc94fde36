import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { type RunningServer } from "../../../src/http/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleStatus } from "../../support/samples.ts";
import { aRequest, connectRaw, type RawClient, statusOf } from "../raw-client.ts";
import { openServer } from "../open-server.ts";
import { formats } from "../../../src/exposition/formats.ts";

/** Sends a request, and reads nothing. */
async function ask(server: RunningServer, path: string, headers: readonly string[] = []): Promise<RawClient> {
  const client = await connectRaw(server.url);
  onTestFinished(() => client[Symbol.asyncDispose]());
  client.socket.pause();
  client.send(aRequest(path, headers));
  return client;
}

/** Does not shrink in gzip, and is more than the buffers of both sockets hold. */
const LARGE = Array.from({ length: 500_000 }, () => Math.random().toString(36)).join("\n");

test("whoever asks while others wait gets the answer that is made for all of them", async () => {
  let made = 0;
  const server = await openServer({
    shown: () => {
      made += 1;
      return JSON.stringify({ made });
    },
  });
  const clients = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      ask(
        server,
        "/api/v1/config",
        index % 2 === 0 ? ["Connection: close"] : ["Connection: close", "Accept-Encoding: gzip"],
      ),
    ),
  );
  for (const { socket } of clients) socket.resume();
  const answers = await Promise.all(clients.map(({ ended }) => ended));
  expect(answers.map(statusOf)).toEqual(answers.map(() => 200));
  expect(made).toBeLessThan(60);
  for (const answer of answers) {
    const body = Buffer.from(answer.slice(answer.indexOf("\r\n\r\n") + 4), "latin1");
    const text = /content-encoding: gzip/i.test(answer) ? gunzipSync(body).toString() : body.toString();
    expect(JSON.parse(text)).toEqual({ made: expect.any(Number) });
  }
});

test("no answer is older than its request, however fast they come", async () => {
  let now = 0;
  const server = await openServer({ metrics: formats(() => [`now ${now}\n`]) });
  const ask = async (): Promise<void> => {
    const askedAt = (now += 1);
    const answer = await (await fetch(`${server.url}/metrics`)).text();
    expect(Number(/^now (\d+)\n$/.exec(answer)?.[1])).toBeGreaterThanOrEqual(askedAt);
  };
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let count = 0; count < 25; count += 1) await ask();
    }),
  );
});

test.each(["/metrics", "/api/v1/config"])(
  "answers that nobody reads take no more memory than is allowed, then it is 503, until they are gone: %s",
  async (path) => {
    const server = await openServer({
      metrics: formats(() => [LARGE]),
      shown: () => LARGE,
      limits: { maxAnswerBytes: 2 * LARGE.length },
    });
    const head = async (): Promise<number> =>
      (await fetch(`${server.url}${path}`, { method: "HEAD" })).status;
    const clients: RawClient[] = [];
    while ((await head()) === 200 && clients.length < 20) {
      clients.push(await ask(server, path, ["Accept-Encoding: gzip"]));
    }
    expect(clients.length).toBeGreaterThan(1);
    expect(clients.length).toBeLessThan(8);
    const full = await fetch(`${server.url}${path}`);
    expect([full.status, full.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await fetch(`${server.url}/-/healthy`)).status).toBe(200);
    for (const { socket } of clients) socket.destroy();
    await eventually("there is room again", head, (status) => status === 200);
  },
);

test("forty readers of one answer take the memory of one", async () => {
  let made = 0;
  const server = await openServer({
    metrics: formats(() => {
      made += 1;
      return [LARGE];
    }),
    limits: { maxAnswerBytes: 2 * LARGE.length },
  });
  const clients = await Promise.all(
    Array.from({ length: 40 }, () => ask(server, "/metrics", ["Accept-Encoding: gzip", "Connection: close"])),
  );
  for (const { socket } of clients) socket.resume();
  const statuses = (await Promise.all(clients.map(({ ended }) => ended))).map(statusOf);
  expect(statuses).toEqual(clients.map(() => 200));
  expect(made).toBeLessThanOrEqual(3);
});

test("one connection gets one answer at a time, even if it asks for more", async () => {
  let made = 0;
  const status = (): ReturnType<typeof sampleStatus> => {
    made += 1;
    return sampleStatus();
  };
  const server = await openServer({ status, shown: () => LARGE });
  const client = await ask(server, "/api/v1/config");
  client.send(aRequest("/").repeat(4));
  expect((await fetch(`${server.url}/`)).status).toBe(200);
  expect(made).toBe(1);
  client.socket.resume();
  await client.until(/(?:<\/html>[^]*){4}$/);
  expect(made).toBe(5);
});

test("a client that leaves with requests unanswered takes no memory and no wait with it", async () => {
  const server = await openServer({
    shown: () => LARGE,
    limits: { maxAnswerBytes: LARGE.length, closeGraceMs: 20_000 },
  });
  const client = await ask(server, "/api/v1/config");
  client.send(aRequest("/api/v1/config").repeat(5));
  await eventually(
    "the answer has begun",
    () => client.socket.readableLength,
    (length) => length > 0,
  );
  client.socket.destroy();
  await eventually(
    "there is room again",
    async () => (await fetch(`${server.url}/api/v1/config`, { method: "HEAD" })).status,
    (status) => status === 200,
  );
  // It would wait for requests in flight.
  await expect(server.close()).resolves.toBeUndefined();
});
