import { isDeepStrictEqual } from "node:util";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "../../../tools/stack/free-port.ts";
import { Program } from "../../../tools/stack/program.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { accountsOf } from "../../support/metrics/slot-accounts.ts";
import { decodeFamilies } from "../../support/metrics/protobuf-decoder.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { answer, openRawUpstream } from "../../support/raw-upstream.ts";

const prometheus = requireBinary("prometheus");

/** What a Prometheus that likes this format best would ask for. */
const ACCEPTS = {
  "text-0": "text/plain;version=0.0.4",
  "text-1": "text/plain;version=1.0.0;escaping=allow-utf-8",
  openmetrics: "application/openmetrics-text;version=1.0.0",
  protobuf: "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
} as const;
const JOBS = Object.keys(ACCEPTS);
const UPSTREAMS = ["steady", "slow", "failing"];
const POLLS = 30;

const world = new AsyncDisposableStack();
let daemon: Daemon;
let prometheusUrl = "";
let startedS = 0;

/** What Prometheus got in protobuf. */
const passedOn: Buffer[] = [];

/** Asks Pacewatch for one format in Prometheus's place. */
async function asking(accept: string): Promise<string> {
  const server: Server = createServer((incoming, outgoing) => {
    const headers = { Accept: accept, "Accept-Encoding": String(incoming.headers["accept-encoding"]) };
    // A connection of its own each time: one that is kept may be closed just as it is used again.
    request(`${daemon.url}/metrics`, { headers, agent: false }, (metrics) => {
      outgoing.writeHead(metrics.statusCode ?? 500, metrics.headers);
      metrics.pipe(outgoing);
      if (accept !== ACCEPTS.protobuf) return;
      const pieces: Buffer[] = [];
      metrics.on("data", (piece: Buffer) => pieces.push(piece));
      metrics.on("end", () => {
        const body = Buffer.concat(pieces);
        const isGzip = metrics.headers["content-encoding"] === "gzip";
        passedOn.push(isGzip ? gunzipSync(body) : body);
      });
    })
      // Prometheus sees a scrape that fails, which the tests tell.
      .on("error", () => outgoing.destroy())
      .end();
  }).listen(0, "127.0.0.1");
  await eventually("it listens", () => server.listening);
  world.defer(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function configOf(url: string, every: string): RawConfig {
  return {
    web: { enable_lifecycle: true },
    budgets: { api: { rate: { requests: 1_000, per: "1s" }, share: "100%" } },
    upstreams: UPSTREAMS.map((name) => rawUpstream(name, url, { path: `/${name}`, every })),
  };
}

beforeAll(async () => {
  if (prometheus === undefined) return;
  let count = 0;
  const upstream = await openRawUpstream(async (connection) => {
    const head = (await connection.request()) ?? "";
    // Spread over more than a doubling, the same at every run.
    count += 1;
    await sleep((head.includes("/slow") ? 60 : 5) + ((count * 37) % 60));
    const said = ["Connection: close", `X-Request-Id: req_${count}`];
    const isFailure = head.includes("/failing") && count % 2 === 0;
    connection.end(answer("{}", said, isFailure ? "500 Oops" : "200 OK"));
  });
  world.defer(() => upstream.close());
  const folder = world.use(await openConfigFolder(configOf(upstream.url, "1s")));
  startedS = Date.now() / 1000;
  daemon = world.use(await startDaemon({ configPath: folder.path }));
  const jobs = await Promise.all(
    Object.entries(ACCEPTS).map(async ([job, accept]) => ({
      job_name: job,
      static_configs: [{ targets: [await asking(accept)] }],
    })),
  );
  const path = join(folder.folder, "prometheus.json");
  const everySecond = { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" };
  await writeFile(path, JSON.stringify({ global: everySecond, scrape_configs: jobs }));
  const address = `127.0.0.1:${await freePort()}`;
  const program = world.use(
    new Program(prometheus, {
      args: [
        `--config.file=${path}`,
        `--storage.tsdb.path=${join(folder.folder, "data")}`,
        `--web.listen-address=${address}`,
        "--enable-feature=native-histograms,exemplar-storage",
      ],
    }),
  );
  prometheusUrl = `http://${address}`;
  await program.ready(`${prometheusUrl}/-/ready`);
  await eventually("every upstream is polled often enough", async () =>
    accountsOf(await daemon.metrics()).every(({ polls }) => polls >= POLLS),
  );
  // From now on nothing changes, so all formats tell of the same moment.
  await folder.write(configOf(upstream.url, "12h"));
  await daemon.post("/-/reload");
  await eventually("the last polls have ended", async () =>
    accountsOf(await daemon.metrics()).every(({ inFlight }) => inFlight === 0),
  );
  await sleep(3_000);
}, 240_000);

afterAll(() => world.disposeAsync());

const Vector = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        value: z.tuple([z.number(), z.string().transform(Number)]),
      }),
    ),
  }),
});

const OWN_LABELS = ["upstream", "budget", "per", "outcome", "reason", "phase", "code", "le"];

/** By upstream, or whatever is left of the labels. */
async function query(expr: string): Promise<ReadonlyMap<string, number>> {
  const answered = await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(expr)}`);
  const { result } = Vector.parse(await answered.json()).data;
  return new Map(
    result.map(({ metric, value }) => [
      OWN_LABELS.flatMap((label) => metric[label] ?? []).join(" "),
      value[1],
    ]),
  );
}

describe.skipIf(prometheus === undefined)("a real Prometheus that scrapes each format", () => {
  test("takes it whole, without an error", async () => {
    const Targets = z.object({
      data: z.object({
        activeTargets: z.array(
          z.object({ scrapePool: z.string(), health: z.string(), lastError: z.string() }),
        ),
      }),
    });
    const { data } = Targets.parse(await (await fetch(`${prometheusUrl}/api/v1/targets`)).json());
    expect(data.activeTargets.map(({ scrapePool }) => scrapePool).toSorted()).toEqual(JOBS.toSorted());
    for (const { health, lastError } of data.activeTargets) expect([health, lastError]).toEqual(["up", ""]);
  });

  test.each([
    "pacewatch_slots_total",
    "sum by (upstream, outcome) (pacewatch_polls_total)",
    "pacewatch_poll_reasons_total",
    "pacewatch_upstream_up",
    "pacewatch_last_poll_timestamp_seconds",
    "pacewatch_poll_phase_duration_seconds_sum",
    "pacewatch_poll_delay_seconds_count",
    "pacewatch_responses_total",
    "pacewatch_budget_cap_requests",
  ])("answers with the same numbers whatever the format: %s", async (expr) => {
    const of = (job: string): Promise<ReadonlyMap<string, number>> =>
      query(expr.replace(/pacewatch_\w+/, (name) => `${name}{job="${job}"}`));
    const wanted = await of("text-0");
    expect(wanted.size).toBeGreaterThan(0);
    for (const job of JOBS) expect(await of(job), `by ${job}`).toEqual(wanted);
  });

  test("has the same buckets from each text, and the same count and sum from native histograms", async () => {
    const duration = "pacewatch_poll_duration_seconds";
    const buckets = await query(`${duration}_bucket{job="text-0"}`);
    expect(buckets.size).toBeGreaterThan(30);
    for (const job of ["text-1", "openmetrics"])
      expect(await query(`${duration}_bucket{job="${job}"}`), `by ${job}`).toEqual(buckets);
    expect((await query(`${duration}_count{job="protobuf"}`)).size).toBe(0);
    expect(await query(`histogram_count(${duration}{job="protobuf"})`)).toEqual(
      await query(`${duration}_count{job="text-0"}`),
    );
    expect(await query(`histogram_sum(${duration}{job="protobuf"})`)).toEqual(
      await query(`${duration}_sum{job="text-0"}`),
    );
  });

  test.each([0.5, 0.9, 0.99])(
    "has the quantile %f from native histograms within a bucket, 9 %",
    async (of) => {
      const Polls = z.object({
        upstream: z.object({
          lastPolls: z.array(z.object({ outcome: z.string(), durationMs: z.number() })),
        }),
      });
      const durations = `pacewatch_poll_duration_seconds{job="protobuf",outcome="ok"}`;
      // Of one scrape: another one may come in between.
      let counts = await query(`histogram_count(${durations})`);
      let quantiles = await query(`histogram_quantile(${of}, ${durations})`);
      for (;;) {
        const after = await query(`histogram_count(${durations})`);
        if (isDeepStrictEqual(after, counts)) break;
        counts = after;
        quantiles = await query(`histogram_quantile(${of}, ${durations})`);
      }
      for (const upstream of UPSTREAMS) {
        const { body } = await daemon.get(`/api/v1/upstreams/${upstream}`);
        const polls = Polls.parse(JSON.parse(body)).upstream.lastPolls;
        const raw = polls
          .filter(({ outcome }) => outcome === "ok")
          .map(({ durationMs }) => durationMs / 1000)
          // The polls that the scrape has counted: more may have ended since.
          .slice(0, counts.get(`${upstream} ok`));
        const exact = raw.toSorted((a, b) => a - b)[Math.ceil(of * raw.length) - 1] ?? 0;
        const quantile = quantiles.get(`${upstream} ok`) ?? 0;
        expect(Math.abs(Math.log2(quantile / exact)), `${upstream}: ${quantile} for ${exact}`).toBeLessThan(
          1 / 8,
        );
      }
    },
  );

  test("keeps as exemplars the newest polls, with the provider's request id of failures, and the page has each", async () => {
    const Exemplars = z.object({
      data: z.array(
        z.object({
          seriesLabels: z.record(z.string(), z.string()),
          exemplars: z.array(
            z.object({ labels: z.record(z.string(), z.string()), value: z.coerce.number() }),
          ),
        }),
      ),
    });
    const { body: page } = await daemon.get("/upstreams/failing");
    for (const metric of ["pacewatch_polls_total", "pacewatch_poll_duration_seconds"]) {
      for (const job of ["openmetrics", "protobuf"]) {
        const isText = job === "openmetrics" && metric.endsWith("seconds");
        const name = isText ? `${metric}_bucket` : metric;
        const expr = encodeURIComponent(`${name}{job="${job}",upstream="failing",outcome="failed"}`);
        const range = `start=${startedS}&end=${Date.now() / 1000 + 1}`;
        const answered = await fetch(`${prometheusUrl}/api/v1/query_exemplars?query=${expr}&${range}`);
        const found = Exemplars.parse(await answered.json()).data.flatMap(({ exemplars }) => exemplars);
        expect(found.length, `${metric} by ${job}`).toBeGreaterThan(3);
        for (const { labels, value } of found) {
          expect(labels).toEqual({
            poll_id: expect.stringMatching(/^\w+-\w+$/),
            poll_page: `failing#${labels["poll_id"]}`,
            request_id: expect.stringMatching(/^req_\d+$/),
          });
          expect(value).toBeLessThan(1);
        }
        // The link of the data source leads there.
        const { poll_id: pollId = "", request_id: requestId = "" } = found.at(-1)?.labels ?? {};
        expect(page).toContain(`id="${pollId}"`);
        expect(page).toContain(requestId);
      }
    }
  });

  test("stores at most 48 series of a healthy upstream, and 35 from protobuf", async () => {
    const [text] = (await query('count({upstream="steady",job="text-0"})')).values();
    const [native] = (await query('count({upstream="steady",job="protobuf"})')).values();
    expect(text).toBeLessThanOrEqual(48);
    expect(native).toBeLessThanOrEqual(35);
  });

  test("and a decoder of others reads protobuf as the daemon sends it", async () => {
    expect(passedOn.length).toBeGreaterThan(POLLS / 2);
    const [families = new Map()] = passedOn.map((body) => decodeFamilies(body)).reverse();
    const polls = families.get("pacewatch_polls_total")?.metrics ?? [];
    expect(polls.length).toBe(UPSTREAMS.length * 5);
    for (const { startedAtMs = 0 } of polls) {
      expect(startedAtMs).toBeGreaterThan(startedS * 1000 - 1_000);
      expect(startedAtMs).toBeLessThan(Date.now());
    }
    expect(families.get("process_cpu_seconds_total")?.metrics[0]?.startedAtMs).toBeGreaterThan(0);
  });
});
