import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { answerRequests } from "../../../src/http/server/answer-requests.ts";
import type { Pieces } from "../../../src/http/routes/answers.ts";
import { createRoutes } from "../../../src/http/routes/routes.ts";
import { DEFAULT_SERVER_LIMITS } from "../../../src/http/server/limits.ts";
import { type RunningServer, type StartOptions } from "../../../src/http/server/server.ts";
import { aRequest, connectRaw, type RawClient, statusOf } from "../raw-client.ts";
import { sampleRoutesDeps } from "../../support/samples.ts";
import { eventually } from "../../support/eventually.ts";
import { openServer } from "../open-server.ts";
import { formats } from "../../../src/exposition/formats.ts";

const warnings: string[] = [];

async function start(over: Partial<StartOptions> = {}): Promise<RunningServer> {
  return openServer({ onWarning: (message) => warnings.push(message), ...over });
}

async function raw(server: RunningServer): Promise<RawClient> {
  const client = await connectRaw(server.url);
  onTestFinished(() => client[Symbol.asyncDispose]());
  return client;
}

async function exchange(server: RunningServer, text: string, pattern = /\r\n\r\n/): Promise<string> {
  const client = await raw(server);
  client.send(text);
  return client.until(pattern);
}

async function isServed(server: RunningServer): Promise<boolean> {
  const answer = await fetch(`${server.url}/-/healthy`).catch(() => undefined);
  return answer?.status === 200;
}

/** More than the buffers of both sockets hold. */
/** More than the sockets of a connection take. */
const LARGE = "pacewatch_slots_total 1\n".repeat(500_000);
const USUAL = "pacewatch_slots_total 1\n".repeat(10_000);

describe("the address", () => {
  test("with port 0 is any free one, and the url says which", async () => {
    const { url } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
    expect(await (await fetch(`${url}/-/healthy`)).text()).toBe("healthy\n");
  });

  test("that is taken is refused with one sentence", async () => {
    const { url } = await start();
    const port = Number(new URL(url).port);
    await expect(start({ port })).rejects.toThrow(
      new Error(
        `cannot listen on 127.0.0.1:${port}: the address is already in use. Set another one with --listen or web.listen`,
      ),
    );
  });

  test("that is not this machine's is refused with one sentence", async () => {
    await expect(start({ host: "192.0.2.1" })).rejects.toThrow(
      "cannot listen on 192.0.2.1:0: this machine does not have the address",
    );
  });

  test("for all addresses gives a url that can be opened", async () => {
    const { url } = await start({ host: "0.0.0.0" });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(url)).status).toBe(200);
  });
});

describe("over a socket", () => {
  test("metrics come compressed, with their length, and HEAD has no body", async () => {
    const { url } = await start({ metrics: formats(() => [USUAL]) });
    const zipped = await fetch(`${url}/metrics`, { headers: { "Accept-Encoding": "gzip" } });
    expect(zipped.headers.get("content-encoding")).toBe("gzip");
    expect(Number(zipped.headers.get("content-length"))).toBeLessThan(USUAL.length / 10);
    expect(await zipped.text()).toBe(USUAL);
    const plain = await fetch(`${url}/metrics`, { headers: { "Accept-Encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(Number(plain.headers.get("content-length"))).toBe(USUAL.length);
    expect((await plain.text()).length).toBe(USUAL.length);
    const head = await fetch(`${url}/metrics`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("gzip on the wire is gzip", async () => {
    const server = await start();
    const answer = await exchange(
      server,
      aRequest("/metrics", ["Accept-Encoding: gzip", "Connection: close"]),
    );
    const client = await raw(server);
    client.send(aRequest("/metrics", ["Accept-Encoding: gzip", "Connection: close"]));
    const whole = await client.ended;
    expect(answer).toContain("content-encoding: gzip");
    const body = Buffer.from(whole.slice(whole.indexOf("\r\n\r\n") + 4), "latin1");
    expect(gunzipSync(body).toString()).toBe("pacewatch_slots_total 1\n");
  });

  test("a connection is kept from scrape to scrape", async () => {
    const client = await raw(await start());
    client.send(aRequest("/-/healthy"));
    await client.until(/healthy\n/);
    client.send(aRequest("/-/ready"));
    expect(await client.until(/ready\n$/)).toMatch(/200 OK[^]*healthy\n[^]*200 OK[^]*ready\n$/);
  });

  test("wrong methods, unknown paths and errors say what they do without one", async () => {
    const { url } = await start();
    expect((await fetch(`${url}/nope`)).status).toBe(404);
    const posted = await fetch(`${url}/metrics`, { method: "POST" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(posted.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("an old client that says no Host is answered, and a new one that must is not", async () => {
    const server = await start();
    expect(statusOf(await exchange(server, "GET /-/healthy HTTP/1.0\r\n\r\n"))).toBe(200);
    expect(statusOf(await exchange(server, "GET /-/healthy HTTP/1.1\r\n\r\n"))).toBe(400);
  });

  test.each(["a b", "a/b", "user@host", "\\", "[::1", "host:99999"])(
    "a Host that is none (%s) is 400",
    async (host) => {
      const server = await start();
      const answer = await exchange(server, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(statusOf(answer)).toBe(400);
    },
  );

  test("the host check holds for a target with a name of its own too", async () => {
    const server = await start({ allowedHosts: () => ["127.0.0.1"] });
    const evil = await exchange(server, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect(statusOf(evil)).toBe(421);
    expect((await fetch(server.url)).status).toBe(200);
  });
});

describe("what a request may bring", () => {
  test("is 16 KiB of head: beyond, 431", async () => {
    const server = await start();
    expect(statusOf(await exchange(server, aRequest("/", [`X-Large: ${"x".repeat(20_000)}`])))).toBe(431);
    expect(statusOf(await exchange(server, aRequest(`/${"x".repeat(20_000)}`)))).toBe(431);
    expect(statusOf(await exchange(server, aRequest("/", [`X-Large: ${"x".repeat(10_000)}`])))).toBe(200);
  });

  test("is no expectation but 100-continue: it is refused like everything else", async () => {
    const server = await start({ limits: { maxPipelined: 3 } });
    const refused = await exchange(server, aRequest("/metrics", ["Expect: x", "Connection: close"]));
    expect(statusOf(refused)).toBe(417);
    expect(refused.toLowerCase()).toContain("x-content-type-options: nosniff");
    const known = await exchange(
      server,
      aRequest("/-/healthy", ["Expect: 100-continue"]),
      /\r\n\r\n[^]*\r\n\r\n/,
    );
    expect(known).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    await using flood = await raw(server);
    flood.send(aRequest("/", ["Expect: x"]).repeat(50));
    const answers = (await flood.ended).match(/HTTP\/1\.1 417/g) ?? [];
    expect(answers.length).toBeLessThanOrEqual(3);
  });

  test("is no body with GET: it is refused unread, and the connection ends", async () => {
    const client = await raw(await start());
    client.send(aRequest("/metrics", ["Content-Length: 5", "Content-Type: text/plain"]));
    const answer = await client.ended;
    expect(statusOf(answer)).toBe(413);
    expect(answer.toLowerCase()).toContain("connection: close");
  });

  test("is no endless body with POST", async () => {
    const client = await raw(await start({ lifecycleEnabled: () => true }));
    client.send("POST /-/reload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect(statusOf(await client.ended)).toBe(413);
  });

  test.each([
    ["both lengths", "Content-Length: 4\r\nTransfer-Encoding: chunked"],
    ["two lengths", "Content-Length: 0\r\nContent-Length: 30"],
    ["a length that is no number", "Content-Length: +5"],
    ["an encoding that is none", "Transfer-Encoding: xchunked"],
    ["a space before the colon", "Content-Length : 4"],
    ["a folded line", "X-A: 1\r\n b"],
  ])("is nothing to smuggle with: %s", async (_, lines) => {
    const client = await raw(await start({ lifecycleEnabled: () => true }));
    const smuggled = aRequest("/-/healthy");
    client.send(`POST /-/reload HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n0\r\n\r\n${smuggled}`);
    const answer = await client.ended;
    expect([400, 413]).toContain(statusOf(answer));
    expect(answer).not.toContain("healthy");
  });
});

describe("a slow client", () => {
  test("that drips its head is cut off", async () => {
    const client = await raw(await start({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 100 } }));
    const drip = setInterval(() => client.send("X-A: 1\r\n"), 20);
    onTestFinished(() => clearInterval(drip));
    client.send("GET / HTTP/1.1\r\nHost: x\r\n");
    expect(statusOf(await client.ended)).toBe(408);
  });

  test("that says nothing at all is cut off, fifty of them together, while others are served", async () => {
    const server = await start({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 } });
    const idle = await Promise.all(Array.from({ length: 50 }, () => raw(server)));
    // On a slow machine the head of a request may take too long as well.
    expect(await eventually("another is served", () => isServed(server))).toBe(true);
    await Promise.all(idle.map(({ ended }) => ended));
  });

  test("that does not read its answer is cut off", async () => {
    const limits = { responseTimeoutMs: 300, maxConnections: 1 };
    const waits: { readonly ms: number; readonly pass: () => void }[] = [];
    const clock = {
      sleep: (ms: number): Promise<void> => {
        const { promise, resolve } = Promise.withResolvers<void>();
        waits.push({ ms, pass: resolve });
        return promise;
      },
    };
    const server = await start({ metrics: formats(() => [LARGE]), limits, clock });
    const client = await raw(server);
    client.send(aRequest("/metrics"));
    await once(client.socket, "data");
    client.socket.pause();
    expect(waits.map(({ ms }) => ms)).toEqual([300]);
    waits[0]?.pass();
    // Nobody else has a place before it is cut off.
    await eventually("another is served", () => isServed(server));
    client.socket.resume();
    const { length } = await client.ended;
    expect(length).toBeGreaterThan(0);
    expect(length).toBeLessThan(LARGE.length);
  });
});

test("a reload may take its time: what a client waits for is not what it is slow to read", async () => {
  const asked = Promise.withResolvers<void>();
  const reloaded = Promise.withResolvers<void>();
  const limits: number[] = [];
  const server = await start({
    clock: { sleep: (ms: number) => (limits.push(ms), new Promise<void>(() => {})) },
    lifecycleEnabled: () => true,
    reload: async () => {
      asked.resolve();
      await reloaded.promise;
      return { kind: "reloaded" };
    },
  });
  const answer = fetch(`${server.url}/-/reload`, { method: "POST" });
  await asked.promise;
  expect(limits).not.toContain(30_000);
  reloaded.resolve();
  expect((await answer).status).toBe(200);
  expect(limits).toContain(30_000);
});

describe("the number of connections", () => {
  test("is bounded, and idle ones make room for those that come", async () => {
    const server = await start({ limits: { maxConnections: 5 } });
    const kept = await Promise.all(Array.from({ length: 5 }, () => raw(server)));
    for (const client of kept) {
      client.send(aRequest("/-/healthy"));
      await client.until(/healthy\n/);
    }
    const comes = await raw(server);
    comes.send(aRequest("/-/ready"));
    expect(await comes.until(/ready\n$/)).toContain("200 OK");
    // The one that has been there longest, and no other.
    await kept[0]?.ended;
    expect(kept.map(({ socket }) => socket.destroyed)).toEqual([true, false, false, false, false]);
  });

  test("is no way to keep others out: the silent and the dripping go first, those that wait for an answer stay", async () => {
    const gate = Promise.withResolvers<Pieces>();
    const asked = Promise.withResolvers<void>();
    const metrics = (): Promise<Pieces> => {
      asked.resolve();
      return gate.promise;
    };
    const server = await start({ metrics: formats(metrics), limits: { maxConnections: 5 } });
    const waiting = await raw(server);
    waiting.send(aRequest("/metrics"));
    await asked.promise;
    for (let count = 0; count < 20; count += 1) (await raw(server)).send("GET / HTTP/1.1\r\nX-A");
    expect((await fetch(`${server.url}/-/healthy`)).status).toBe(200);
    gate.resolve(["a 1\n"]);
    expect(await waiting.until(/a 1\n$/)).toContain("200 OK");
  });

  test("is full where all of them wait for answers: then those that come are turned away", async () => {
    let asked = 0;
    const reload = (): Promise<never> => {
      asked += 1;
      return new Promise(() => {});
    };
    const server = await start({ reload, lifecycleEnabled: () => true, limits: { maxConnections: 3 } });
    const waiting = await Promise.all(Array.from({ length: 3 }, () => raw(server)));
    for (const client of waiting) client.send("POST /-/reload HTTP/1.1\r\nHost: x\r\n\r\n");
    await eventually("all three are asked for", () => asked === 3);
    expect(await (await raw(server)).ended).toBe("");
    expect(waiting.map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
  });
});

test("guesses that wait for their passwords to be checked keep nobody out, and none that is known", async () => {
  // As slow as a hash can be: none of them is checked while this test runs.
  const users = new Map([["user", `$2b$31$${"a".repeat(53)}`]]);
  const webConfig = {
    read: () => Promise.resolve({ kind: "opened", what: { tls: undefined, headers: {}, users } } as const),
    hasChanged: () => Promise.resolve(false),
  };
  const server = await start({ webConfig, limits: { maxConnections: 4 } });
  const kept = await raw(server);
  kept.send(aRequest("/-/healthy"));
  await kept.until(/healthy\n/);
  const guesses: RawClient[] = [];
  for (const guess of ["one", "two", "three", "four", "five"]) {
    const client = await raw(server);
    const encoded = Buffer.from(`user:${guess}`).toString("base64");
    client.send(aRequest("/metrics", [`Authorization: Basic ${encoded}`]));
    guesses.push(client);
    // A probe needs no password: once it is answered, the guess before it was read.
    const probe = await raw(server);
    probe.send(aRequest("/-/healthy", ["Connection: close"]));
    expect(statusOf(await probe.ended)).toBe(200);
  }
  await Promise.all(guesses.slice(0, 2).map(({ ended }) => ended));
  expect(kept.socket.destroyed).toBe(false);
  kept.send(aRequest("/-/ready"));
  expect(await kept.until(/ready\n$/)).toContain("200 OK");
});

describe("scrapes at once", () => {
  test("are bounded, and a reader that stopped reading still counts", async () => {
    const server = await start({ metrics: formats(() => [LARGE]), limits: { maxScrapes: 3 } });
    const slow = await Promise.all(Array.from({ length: 3 }, () => raw(server)));
    for (const client of slow) {
      client.socket.pause();
      client.send(aRequest("/metrics"));
    }
    await eventually(
      "the answer is 503",
      async () => (await fetch(`${server.url}/metrics`, { method: "HEAD" })).status === 503,
    );
    const refused = await fetch(`${server.url}/metrics`);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await fetch(`${server.url}/-/healthy`)).status).toBe(200);

    for (const client of slow) client.socket.destroy();
    await eventually(
      "the answer is 200",
      async () => (await fetch(`${server.url}/metrics`, { method: "HEAD" })).status === 200,
    );
  });

  test("are shared by address: whoever takes nothing of forty keeps nobody else out", async () => {
    const server = await start({ metrics: formats(() => [LARGE]), limits: { maxScrapes: 3 } });
    const greedy = await Promise.all(
      Array.from({ length: 3 }, () => connectRaw(server.url, { localAddress: "127.0.0.2" })),
    );
    for (const client of greedy) {
      client.socket.pause();
      client.send(aRequest("/metrics"));
    }
    const again = async (): Promise<number> => {
      await using client = await connectRaw(server.url, { localAddress: "127.0.0.2" });
      client.send(aRequest("/metrics", ["Connection: close"]));
      return statusOf(await client.until(/^HTTP/));
    };
    await eventually("they have all places", async () => (await again()) === 503);
    for (let scrape = 0; scrape < 4; scrape += 1) {
      const answer = await fetch(`${server.url}/metrics`);
      expect(answer.status).toBe(200);
      expect((await answer.text()).length).toBe(LARGE.length);
    }
    await Promise.all(greedy.map((client) => client[Symbol.asyncDispose]()));
  });

  test("give their places back when clients hang up early, pipelined or not, or collecting fails", async () => {
    let fails = false;
    let isLarge = true;
    const metrics = (): Pieces => {
      if (fails) throw new Error("test-failure");
      return [isLarge ? LARGE : "a 1\n"];
    };
    const server = await start({ metrics: formats(metrics), limits: { maxScrapes: 4 } });
    const clients = await Promise.all(Array.from({ length: 4 }, () => raw(server)));
    for (const client of clients) {
      client.socket.pause();
      client.send(aRequest("/metrics").repeat(2));
    }
    await eventually("the answer is 503", async () => (await fetch(`${server.url}/metrics`)).status === 503);
    isLarge = false;
    for (const client of clients) await client[Symbol.asyncDispose]();
    const free = async (): Promise<boolean> => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => fetch(`${server.url}/metrics`)));
      await Promise.all(answers.map((answer) => answer.text()));
      return answers.every(({ status }) => status === 200);
    };
    await eventually("there is room again", free);
    fails = true;
    for (let count = 0; count < 10; count += 1)
      expect((await fetch(`${server.url}/metrics`)).status).toBe(500);
    expect(warnings).toContain("cannot answer GET /metrics: test-failure");
    fails = false;
    expect(await free()).toBe(true);
  });
});

describe("a client that hangs up", () => {
  test("while its password is checked takes no scrape's place with it", async () => {
    const checking = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const app = createRoutes(sampleRoutesDeps(), {
      limits: { ...DEFAULT_SERVER_LIMITS, maxScrapes: 1 },
      guards: [
        async ({ header, outgoing }) => {
          if (header("x-slow") === undefined) return undefined;
          entered.resolve();
          outgoing.once("close", () => left.resolve());
          await checking.promise;
          return undefined;
        },
      ],
    });
    const server = createServer(answerRequests(app, () => {})).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = await connectRaw(url);
    client.send(aRequest("/metrics", ["X-Slow: 1"]));
    await entered.promise;
    await client[Symbol.asyncDispose]();
    await left.promise;
    checking.resolve();
    // Its own turn, that nobody waits for any more, ends before ours begins.
    await new Promise(setImmediate);
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
    server.closeAllConnections();
  });
});

describe("closing", () => {
  test("lets a request in flight finish, ends idle connections, and takes no new one", async () => {
    const gate = Promise.withResolvers<Pieces>();
    const asked = Promise.withResolvers<void>();
    const metrics = (): Promise<Pieces> => {
      asked.resolve();
      return gate.promise;
    };
    const server = await start({ metrics: formats(metrics), limits: { closeGraceMs: 20_000 } });
    const idle = await raw(server);
    idle.send(aRequest("/-/healthy"));
    await idle.until(/healthy\n/);
    const silent = await raw(server);
    const busy = await raw(server);
    busy.send(aRequest("/metrics"));
    await asked.promise;

    const closed = server.close();
    await idle.ended;
    await expect(fetch(server.url)).rejects.toThrow("fetch failed");
    gate.resolve(["a 1\n"]);
    await closed;
    expect(await busy.ended).toMatch(/200 OK[^]*a 1\n$/);
    expect(await silent.ended).toBe("");
  });

  test("does not wait for a client that never reads, nor for an answer that never comes", async () => {
    const asked = Promise.withResolvers<void>();
    const metrics = (): Promise<Pieces> => {
      asked.resolve();
      return new Promise(() => {});
    };
    const server = await start({ metrics: formats(metrics), limits: { closeGraceMs: 50 } });
    const client = await raw(server);
    client.send(aRequest("/metrics"));
    await asked.promise;
    await server.close();
    expect(await client.ended).toBe("");
  });

  test("does not wait for a look at the web config that never ends, as on a file system that hangs", async () => {
    const { promise: looking, resolve: look } = Promise.withResolvers<void>();
    const server = await openServer({
      webConfigRecheckMs: 0,
      webConfig: {
        read: async () => ({
          kind: "opened",
          what: { tls: undefined, headers: {}, users: new Map() },
        }),
        hasChanged: () => {
          look();
          return new Promise(() => {});
        },
      },
    });
    await looking;
    await expect(server.close()).resolves.toBeUndefined();
  });

  test("twice is closing once, and a dispose is a close", async () => {
    const server = await start();
    await Promise.all([server.close(), server.close(), server[Symbol.asyncDispose]()]);
    await expect(fetch(server.url)).rejects.toThrow("fetch failed");
  });
});
