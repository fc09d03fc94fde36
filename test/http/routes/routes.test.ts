import { readFile } from "node:fs/promises";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Format } from "../../../src/exposition/format.ts";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import {
  samplePollStatus,
  sampleStatus,
  sampleUpstreamStatus,
  sampleRoutesDeps,
} from "../../support/samples.ts";
import { formats } from "../../../src/exposition/formats.ts";

const PATHS = [
  "/",
  "/metrics",
  "/-/healthy",
  "/-/ready",
  "/api/v1/upstreams",
  "/api/v1/upstreams/ai-router",
  "/api/v1/incidents",
  "/api/v1/config",
  "/upstreams/ai-router",
  "/runbooks/",
  "/runbooks/PacewatchUpstreamDown",
];

describe("the paths", () => {
  test.each(PATHS)("%s answers GET, and HEAD with the same head and no body", async (path) => {
    const app = routesToAsk(sampleRoutesDeps());
    const got = await app.request(path);
    const head = await app.request(path, { method: "HEAD" });
    expect([got.status, head.status]).toEqual([200, 200]);
    expect(Object.fromEntries(head.headers)).toEqual(Object.fromEntries(got.headers));
    expect((await got.text()).length).toBeGreaterThan(0);
    expect(await head.text()).toBe("");
  });

  test.each(PATHS)("%s refuses other methods and says which it knows", async (path) => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
      const answer = await routesToAsk(sampleRoutesDeps()).request(path, { method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
  });

  test.each(["GET", "HEAD", "PUT"])("a reload is not asked for with %s", async (method) => {
    const answer = await routesToAsk(sampleRoutesDeps({ lifecycleEnabled: () => true })).request(
      "/-/reload",
      {
        method,
      },
    );
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test.each(["/nope", "/metrics/", "//metrics", "/-/", "/api/v1", "/api/v1/upstreams/", "/favicon.ico"])(
    "%s is not found, whatever the method",
    async (path) => {
      for (const method of ["GET", "HEAD", "POST", "DELETE"])
        expect(
          (await routesToAsk(sampleRoutesDeps()).request(`http://localhost${path}`, { method })).status,
        ).toBe(404);
    },
  );

  test("the documentation names every one of them", async () => {
    const documentation = await readFile(new URL("../../../docs/api.md", import.meta.url), "utf8");
    const routes = routesToAsk(sampleRoutesDeps()).routes.filter(
      ({ method }) => method === "GET" || method === "POST",
    );
    expect(routes.length).toBe(15);
    for (const { method, path } of routes)
      expect(documentation).toContain(`\`${method} ${path.replace(":name", "NAME")}\``);
  });
});

describe("every answer", () => {
  test.each(["/", "/metrics", "/nope", "/api/v1/upstreams/nope", "/-/reload"])(
    "of %s keeps browsers from guessing, framing, caching and telling on",
    async (path) => {
      const { headers } = await routesToAsk(sampleRoutesDeps()).request(path);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/,
      );
    },
  );

  test("that fails inside tells the log why, and the client nothing", async () => {
    const warnings: string[] = [];
    const status = (): never => {
      throw new Error("test-detail");
    };
    const app = routesToAsk(sampleRoutesDeps({ status }), {
      onWarning: (message) => warnings.push(message),
    });
    const answer = await app.request("/api/v1/upstreams");
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("test-detail");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(warnings).toEqual(["cannot answer GET /api/v1/upstreams: test-detail"]);
  });
});

describe("metrics", () => {
  test("are text 0.0.4 for whoever does not say, at once or promised", async () => {
    for (const metrics of [formats(() => ["a 1\n"]), formats(() => Promise.resolve(["a 1\n"]))]) {
      const answer = await routesToAsk(sampleRoutesDeps({ metrics })).request("/metrics");
      expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
      expect(answer.headers.get("vary")).toBe("Accept, Accept-Encoding");
      expect(await answer.text()).toBe("a 1\n");
    }
  });

  test("are made in the format that is asked for", async () => {
    const made: string[] = [];
    const metrics = (format: Format): readonly Uint8Array[] => {
      made.push(format.constructor.name);
      return [format.end];
    };
    const app = routesToAsk(sampleRoutesDeps({ metrics: formats(metrics) }));
    const answers = await Promise.all(
      ["application/openmetrics-text", "application/vnd.google.protobuf", "text/plain"].map((accept) =>
        app.request("/metrics", { headers: { Accept: accept } }),
      ),
    );
    expect(answers.map(({ headers }) => headers.get("content-type"))).toEqual([
      "application/openmetrics-text; version=1.0.0; charset=utf-8",
      "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    expect(made).toEqual(["TextFormat", "ProtobufFormat", "TextFormat"]);
    expect(await answers[0]?.text()).toBe("# EOF\n");
  });

  const text = "pacewatch_slots_total 1\n".repeat(10_000);
  test.each([
    ["whole", () => [text]],
    ["piece by piece", () => text.split(/(?<=\n)/)],
  ])("come in gzip or zstd where asked for, and plain elsewhere, made %s", async (_, metrics) => {
    const plain = await routesToAsk(sampleRoutesDeps({ metrics: formats(metrics) })).request("/metrics");
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(text);
    for (const [coding, decode] of [
      ["gzip", gunzipSync],
      ["zstd", zstdDecompressSync],
    ] as const) {
      const answer = await routesToAsk(sampleRoutesDeps({ metrics: formats(metrics) })).request("/metrics", {
        headers: { "Accept-Encoding": coding },
      });
      expect(answer.headers.get("content-encoding")).toBe(coding);
      expect(answer.headers.get("vary")).toBe("Accept, Accept-Encoding");
      const body = Buffer.from(await answer.arrayBuffer());
      expect(body.length).toBeLessThan(text.length / 10);
      expect(decode(body).toString()).toBe(text);
    }
  });
});

describe("readiness", () => {
  test("is 503 until the schedule runs, while the process is healthy all along", async () => {
    const app = routesToAsk(sampleRoutesDeps({ ready: () => false }));
    expect((await app.request("/-/ready")).status).toBe(503);
    expect((await app.request("/-/healthy")).status).toBe(200);
  });
});

describe("a budget is resumed", () => {
  const post = { method: "POST" };
  const resumed: string[] = [];
  const resume = (budget: string): boolean => {
    if (budget !== "api") return false;
    resumed.push(budget);
    return true;
  };

  test("by its name, where that is enabled", async () => {
    const app = routesToAsk(sampleRoutesDeps({ resume, lifecycleEnabled: () => true }));
    const answer = await app.request("/-/resume?budget=api", post);
    expect([answer.status, await answer.text(), resumed]).toEqual([200, "resumed\n", ["api"]]);
    expect((await app.request("/-/resume?budget=other", post)).status).toBe(404);
    expect((await app.request("/-/resume", post)).status).toBe(400);
    expect((await app.request("/-/resume?budget=api")).status).toBe(405);
  });

  test("not unless enabled, and not by a web page", async () => {
    resumed.length = 0;
    const path = "/-/resume?budget=api";
    const origin = { ...post, headers: { Origin: "https://evil.example" } };
    expect((await routesToAsk(sampleRoutesDeps({ resume })).request(path, post)).status).toBe(403);
    const app = routesToAsk(sampleRoutesDeps({ resume, lifecycleEnabled: () => true }));
    expect((await app.request(path, origin)).status).toBe(403);
    expect(resumed).toEqual([]);
  });
});

describe("a reload", () => {
  const post = { method: "POST" };

  test("is forbidden unless enabled, and then not even tried", async () => {
    let reloads = 0;
    const reload = (): Promise<{ kind: "reloaded" }> =>
      Promise.resolve({ kind: "reloaded", count: (reloads += 1) });
    const answer = await routesToAsk(sampleRoutesDeps({ reload })).request("/-/reload", post);
    expect(answer.status).toBe(403);
    expect(await answer.text()).toBe('cannot reload: "web.enable_lifecycle" must be true, received false\n');
    expect(reloads).toBe(0);
  });

  test("follows lifecycleEnabled as it is now, not as it was at the start", async () => {
    let enabled = false;
    const deps = sampleRoutesDeps();
    const app = routesToAsk({
      ...deps,
      lifecycleEnabled: () => enabled,
    });
    expect((await app.request("/-/reload", post)).status).toBe(403);
    enabled = true;
    expect((await app.request("/-/reload", post)).status).toBe(200);
  });

  test("that is refused tells every fault on a line of its own", async () => {
    const reload = () =>
      Promise.resolve({ kind: "refused" as const, faults: ["a.yaml:1:2: one", "a.yaml:3:4: two"] });
    const answer = await routesToAsk(sampleRoutesDeps({ reload, lifecycleEnabled: () => true })).request(
      "/-/reload",
      post,
    );
    expect(answer.status).toBe(400);
    expect(await answer.text()).toBe("a.yaml:1:2: one\na.yaml:3:4: two\n");
  });

  test("is not taken from a web page of somebody else", async () => {
    const app = routesToAsk(sampleRoutesDeps({ lifecycleEnabled: () => true }));
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await app.request("/-/reload", { ...post, headers })).status;
    expect(await status({ Origin: "https://evil.example" })).toBe(403);
    // Some browsers send no Origin from a form of another site.
    expect(await status({ "Sec-Fetch-Site": "cross-site" })).toBe(403);
    expect(await status({ "Sec-Fetch-Site": "none" })).toBe(200);
  });

  test("may carry a few bytes, not many, and none of unknown length", async () => {
    const app = routesToAsk(sampleRoutesDeps({ lifecycleEnabled: () => true }));
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await app.request("/-/reload", { ...post, headers })).status;
    expect(await status({ "Content-Length": "1024" })).toBe(200);
    expect(await status({ "Content-Length": "1025" })).toBe(413);
    expect(await status({ "Transfer-Encoding": "chunked" })).toBe(413);
  });
});

describe("the JSON API", () => {
  const snapshot = sampleStatus({
    upstreams: [
      sampleUpstreamStatus({ lastPolls: [samplePollStatus({ id: "old" }), samplePollStatus({ id: "new" })] }),
      sampleUpstreamStatus({ name: "email", budgets: ["gone"], latency: undefined }),
    ],
    incidents: [
      { upstream: "email", state: "down", reason: "dns", startedAtMs: 1, endedAtMs: undefined, polls: 2 },
      { upstream: "ai-router", state: "down", reason: "tls", startedAtMs: 1, endedAtMs: 2, polls: 3 },
    ],
  });
  const app = routesToAsk(sampleRoutesDeps({ status: () => snapshot }));

  test("lists upstreams with their last poll in place of their history", async () => {
    const answer = await app.request("/api/v1/upstreams");
    expect(answer.headers.get("content-type")).toBe("application/json");
    const body = (await answer.json()) as { upstreams: unknown[] };
    expect(body).toMatchObject({
      version: "0.1.0",
      nowMs: 100_000,
      ready: true,
      budgets: [{ name: "ai-router" }],
    });
    expect(body.upstreams).toMatchObject([{ name: "ai-router", lastPoll: { id: "new" } }, { name: "email" }]);
    expect(body.upstreams[0]).not.toHaveProperty("lastPolls");
    expect(body.upstreams[1]).not.toHaveProperty("latency");
  });

  test("tells all of one upstream, with its own budget and incidents", async () => {
    expect(await (await app.request("/api/v1/upstreams/ai-router")).json()).toMatchObject({
      nowMs: 100_000,
      upstream: { name: "ai-router", lastPolls: [{ id: "old" }, { id: "new" }], lastFailures: [] },
      budgets: [{ name: "ai-router" }],
      incidents: [{ reason: "tls" }],
    });
  });

  test.each(["nope", "__proto__", "constructor", "%2e%2e", "%ff", "<script>"])(
    "knows no upstream named %s",
    async (name) => {
      const answer = await app.request(`/api/v1/upstreams/${name}`);
      expect(answer.status).toBe(404);
      expect(answer.headers.get("content-type")).toMatch(/application\/json|text\/plain/);
    },
  );

  test("shows the config that it is given", async () => {
    const deps = sampleRoutesDeps({ shown: () => '{"log":{"level":"info"}}' });
    const answer = await routesToAsk(deps).request("/api/v1/config");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.json()).toEqual({ log: { level: "info" } });
  });
});

describe("the host check", () => {
  const app = routesToAsk(sampleRoutesDeps({ allowedHosts: () => ["pacewatch.example", "[::1]:10429"] }));
  const status = async (host: string, path = "/"): Promise<number> =>
    (await app.request(path, { headers: { Host: host } })).status;

  test.each(["pacewatch.example", "PACEWATCH.example:10429", "pacewatch.example.", "[::1]", "[::1]:80"])(
    "knows %s",
    async (host) => expect(await status(host)).toBe(200),
  );

  test.each([
    "evil.example",
    "evil.example:10429",
    "pacewatch.example.evil.example",
    "127.0.0.1",
    "::1:x",
    "",
  ])("refuses a page that rebinds its name %s to this machine", async (host) =>
    expect(await status(host)).toBe(421),
  );

  test("leaves alone the probes of an orchestrator, which ask by address", async () => {
    expect(await status("10.0.0.7:10429", "/-/healthy")).toBe(200);
    expect(await status("10.0.0.7:10429", "/-/ready")).toBe(200);
    expect(await status("10.0.0.7:10429", "/metrics")).toBe(421);
  });

  test("is not made where no names are given", async () => {
    const answer = await routesToAsk(sampleRoutesDeps()).request("/", { headers: { Host: "any.example" } });
    expect(answer.status).toBe(200);
  });
});
