import { describe, expect, onTestFinished, test } from "vitest";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import type { RunningServer, StartOptions } from "../../../src/http/server/server.ts";
import { aRequest, connectRaw, statusOf } from "../raw-client.ts";
import { sampleRoutesDeps } from "../../support/samples.ts";
import { openServer } from "../open-server.ts";
import { formats } from "../../../src/exposition/formats.ts";

/** A server that could be reloaded, and must not be by anything here. */
async function start(
  over: Partial<StartOptions> = {},
): Promise<RunningServer & { readonly reloads: () => number }> {
  let reloads = 0;
  const server = await openServer({
    lifecycleEnabled: () => true,
    reload: () => {
      reloads += 1;
      return Promise.resolve({ kind: "reloaded" });
    },
    ...over,
  });
  return { ...server, reloads: () => reloads };
}

/** All that comes back until the server ends the connection, as it must after each of these. */
async function talk(server: RunningServer, text: string): Promise<string> {
  await using client = await connectRaw(server.url);
  client.socket.write(Buffer.from(text, "latin1"));
  return await client.ended;
}

function statusesOf(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

const line = (request: string, headers = ""): string =>
  `${request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`;

describe("paths", () => {
  test.each([
    ["/..%2f..%2fetc%2fpasswd", 404],
    ["/../../etc/passwd", 404],
    ["/.%2e/metrics/..%2f", 404],
    ["//metrics", 404],
    ["//elsewhere.example/metrics", 404],
    ["/metrics/", 404],
    ["/METRICS", 404],
    ["/metrics;x=1", 404],
    ["/metrics%00", 404],
    ["/metrics%0d%0aX-A:1", 404],
    ["/%2fmetrics", 404],
    ["/\\elsewhere.example", 400],
    ["/api/v1/upstreams/%2e%2e%2f%2e%2e%2fconfig", 404],
    ["/api/v1/upstreams/__proto__", 404],
    ["/api/v1/upstreams/constructor", 404],
    ["/api/v1/upstreams/%E0%A4%A", 404],
    ["/upstreams/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404],
    ["/upstreams/..%2f..%2fmetrics", 404],
    ["/src/main.ts", 404],
    ["/config/pacewatch.yaml", 404],
    ["/.env", 404],
  ])("%s leads nowhere: %i", async (path, status) => {
    const answer = await talk(await start(), line(`GET ${path}`));
    expect(statusesOf(answer)).toEqual([status]);
    expect(answer).toContain("x-content-type-options: nosniff");
    expect(answer).not.toContain("<script>");
    expect(answer).not.toContain("root:");
  });

  test.each(["/met\0rics", "/met\rrics", "/ \tmetrics x"])("%j is no path", async (path) => {
    expect(statusesOf(await talk(await start(), line(`GET ${path}`)))).toEqual([400]);
  });
});

describe("methods", () => {
  test.each(["TRACE", "OPTIONS", "PUT", "DELETE", "PATCH", "PROPFIND", "QUERY"])(
    "%s is refused",
    async (method) => {
      const server = await start();
      for (const path of ["/metrics", "/-/reload", "/api/v1/config"]) {
        const answer = await talk(server, line(`${method} ${path}`, "X-Told: test-told\r\n"));
        expect(statusesOf(answer)).toEqual([405]);
        // What a TRACE repeats could be a cookie, or a password.
        expect(answer).not.toContain("test-told");
      }
      expect(server.reloads()).toBe(0);
    },
  );

  test.each([
    "X-HTTP-Method-Override: POST",
    "X-HTTP-Method: POST",
    "X-Method-Override: POST",
    "X-Original-URL: /-/reload",
    "X-Rewrite-URL: /-/reload",
  ])("%s turns no GET into a reload", async (header) => {
    const server = await start();
    expect(statusesOf(await talk(server, line("GET /-/reload?_method=POST", `${header}\r\n`)))).toEqual([
      405,
    ]);
    expect(statusesOf(await talk(server, line("GET /-/healthy", `${header}\r\n`)))).toEqual([200]);
    expect(server.reloads()).toBe(0);
  });

  test.each(["get /", "TRACK /", "GE T /", "\u0001GET /"])("%j is no request line", async (request) => {
    expect(statusesOf(await talk(await start(), line(request)))).toEqual([400]);
  });

  test("no protocol is switched to", async () => {
    const server = await start();
    for (const to of ["websocket", "h2c", "TLS/1.3"]) {
      const answer = await talk(server, line("GET /-/healthy", `Connection: Upgrade\r\nUpgrade: ${to}\r\n`));
      expect(statusesOf(answer)).toEqual([200]);
    }
    expect(statusesOf(await talk(server, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))).toEqual([400]);
    expect(await talk(server, line("CONNECT elsewhere.example:443"))).toBe("");
  });
});

const SMUGGLED = "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";

describe("a second request hidden in a first one is not found there:", () => {
  test.each([
    ["both lengths", "Content-Length: 6\r\nTransfer-Encoding: chunked", `0\r\n\r\n${SMUGGLED}`],
    [
      "both lengths, the other way round",
      "Transfer-Encoding: chunked\r\nContent-Length: 4",
      `5e\r\n${SMUGGLED}\r\n0\r\n\r\n`,
    ],
    ["two encodings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", `0\r\n\r\n${SMUGGLED}`],
    ["an encoding with a space", "Transfer-Encoding : chunked", `0\r\n\r\n${SMUGGLED}`],
    ["an encoding after a tab", "Transfer-Encoding:\tchunked", `0\r\n\r\n${SMUGGLED}`],
    ["an encoding that is not the last", "Transfer-Encoding: chunked, identity", `0\r\n\r\n${SMUGGLED}`],
    ["an encoding on a folded line", "Transfer-Encoding:\r\n chunked", `0\r\n\r\n${SMUGGLED}`],
    ["two lengths", "Content-Length: 0\r\nContent-Length: 88", SMUGGLED],
    ["two lengths that agree", "Content-Length: 5\r\nContent-Length: 5", `abcde${SMUGGLED}`],
    ["a list of lengths", "Content-Length: 5, 5", `abcde${SMUGGLED}`],
    ["a length below 0", "Content-Length: -1", SMUGGLED],
    ["a length with a sign", "Content-Length: +0", SMUGGLED],
    ["a length in hexadecimal", "Content-Length: 0x0", SMUGGLED],
    ["a length beyond all numbers", "Content-Length: 99999999999999999999", SMUGGLED],
    ["a chunk of too many digits", "Transfer-Encoding: chunked", `${"f".repeat(17)}\r\n${SMUGGLED}`],
    ["a bare line feed in a chunk", "Transfer-Encoding: chunked", `0\n\n${SMUGGLED}`],
    ["a header ended by a line feed alone", "X-A: b\nContent-Length: 0", SMUGGLED],
    ["a header ended by a carriage return alone", "X-A: b\rContent-Length: 0", SMUGGLED],
    ["a NUL in a header", "X-A: b\0c", SMUGGLED],
    ["a folded line", "X-A: b\r\n Content-Length: 0", SMUGGLED],
    ["a header without a name", ": b", SMUGGLED],
    ["a GET with a body", `Content-Length: ${SMUGGLED.length}`, SMUGGLED],
  ])("%s", async (_, headers, rest) => {
    const server = await start();
    const answer = await talk(
      server,
      `GET /metrics HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${rest}`,
    );
    expect([[400], [413]]).toContainEqual(statusesOf(answer));
    expect(server.reloads()).toBe(0);
  });

  test("a POST whose body is one is read over it", async () => {
    const server = await start();
    const body = line("GET /metrics");
    const post = `POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const answer = await talk(server, post + line("GET /-/healthy"));
    expect(statusesOf(answer)).toEqual([200, 200]);
    expect(answer).toMatch(/healthy\n$/);
    expect(server.reloads()).toBe(1);
  });

  test("an old version of HTTP knows no chunks", async () => {
    const server = await start();
    const chunked = `POST /-/reload HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`;
    expect(statusesOf(await talk(server, chunked))).toEqual([400]);
    expect(server.reloads()).toBe(0);
  });
});

describe("names", () => {
  test("two of them are none", async () => {
    const server = await start();
    const twice = "GET / HTTP/1.1\r\nHost: localhost\r\nhOST: elsewhere.example\r\nConnection: close\r\n\r\n";
    expect(statusesOf(await talk(server, twice))).toEqual([400]);
  });

  test("a target that brings its own is asked for by that one", async () => {
    const server = await start({ allowedHosts: () => ["localhost"] });
    expect(statusesOf(await talk(server, line("GET http://localhost/metrics")))).toEqual([200]);
    expect(statusesOf(await talk(server, line("GET http://elsewhere.example/metrics")))).toEqual([421]);
    expect(statusesOf(await talk(server, line("GET https://localhost.elsewhere.example/")))).toEqual([421]);
  });

  test.each(["file:///etc/passwd", "javascript:alert(1)", "ftp://localhost/", "*", "localhost", "?x=1"])(
    "a target like %s is 400",
    async (target) => expect(statusesOf(await talk(await start(), line(`GET ${target}`)))).toEqual([400]),
  );

  test("may change while the server runs", async () => {
    let names: readonly string[] | undefined = ["status.example"];
    const server = await openServer({ allowedHosts: () => names });
    expect((await fetch(server.url)).status).toBe(421);
    names = undefined;
    expect((await fetch(server.url)).status).toBe(200);
  });
});

describe("requests without waiting for answers", () => {
  test("are answered in their order while they are few", async () => {
    const server = await start();
    await using client = await connectRaw(server.url);
    client.send(["/-/healthy", "/nowhere", "/metrics", "/-/ready"].map((path) => aRequest(path)).join(""));
    const answers = await client.until(/ready\n$/);
    expect(statusesOf(answers)).toEqual([200, 404, 200, 200]);
  });

  test("by the thousand cut the connection off, and make but a few answers", async () => {
    let renders = 0;
    const server = await start({
      metrics: formats(() => {
        renders += 1;
        return ["a 1\n"];
      }),
    });
    const clients = await Promise.all(Array.from({ length: 5 }, () => connectRaw(server.url)));
    for (const client of clients) client.send(aRequest("/metrics").repeat(5_000));
    await Promise.all(clients.map(({ ended }) => ended));
    expect(renders).toBeLessThanOrEqual(5 * 16);
    expect((await fetch(`${server.url}/metrics`)).status).toBe(200);
  });
});

describe("answers that many ask for at once", () => {
  /** Counts the turns of the loop until it is stopped. */
  function countTurns(): () => number {
    let turns = 0;
    let next: NodeJS.Immediate;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    next = setImmediate(count);
    onTestFinished(() => clearImmediate(next));
    return () => turns;
  }

  const NAMED = Array.from({ length: 30 }, (_, index) => `/api/v1/upstreams/api-${index}`);

  test.each([
    ["different ones", NAMED, 30],
    ["pages that are the same", NAMED.map(() => "/"), 2],
    ["metrics", NAMED.map(() => "/metrics"), 2],
  ])("are made one in each turn of the loop, so that polls come in between: %s", async (_, paths, most) => {
    const turn = countTurns();
    const made: number[] = [];
    const deps = sampleRoutesDeps();
    const counted = sampleRoutesDeps({
      metrics: formats(() => {
        made.push(turn());
        return ["a 1\n"];
      }),
      status: () => {
        made.push(turn());
        return deps.status();
      },
    });
    const app = routesToAsk(counted);
    const answers = await Promise.all(paths.map(async (path) => app.request(path)));
    expect(answers.map(({ status }) => status)).not.toContain(503);
    expect(new Set(made).size).toBe(made.length);
    expect(made.length).toBeLessThanOrEqual(most);
  });

  test("are refused at once beyond a hundred different ones, but for the word that it lives", async () => {
    const app = routesToAsk(sampleRoutesDeps());
    const asked = Array.from({ length: 300 }, async (_, index) => app.request(`/upstreams/api-${index}`));
    const healthy = await app.request("/-/healthy");
    expect(healthy.status).toBe(200);
    const refused = (await Promise.all(asked)).filter(({ status }) => status === 503);
    expect(refused).toHaveLength(200);
    expect(refused[0]?.headers.get("retry-after")).toBe("1");
    expect((await app.request("/")).status).toBe(200);
  });

  test("are not made for those who have gone meanwhile", async () => {
    let renders = 0;
    const server = await start({
      metrics: formats(() => {
        renders += 1;
        return ["a 1\n"];
      }),
    });
    const clients = await Promise.all(Array.from({ length: 50 }, () => connectRaw(server.url)));
    for (const client of clients) {
      client.send(aRequest("/metrics"));
      client.socket.resetAndDestroy();
    }
    expect(statusOf(await talk(server, line("GET /metrics")))).toBe(200);
    expect(renders).toBeLessThanOrEqual(51);
  });
});
