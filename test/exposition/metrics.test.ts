import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { scrape } from "../../src/exposition/exposition.ts";
import { CATALOGUE } from "../../tools/docs-metrics.ts";
import { eventually } from "../support/eventually.ts";
import { requireBinary } from "../support/processes/binaries.ts";
import { ProtobufFormat } from "../../src/exposition/protobuf.ts";
import type { Format } from "../../src/exposition/format.ts";
import type { MetricsSnapshot } from "../../src/kernel/metrics/snapshot.ts";
import { TextFormat } from "../../src/exposition/text.ts";
import { parseExposition, sumOfSamples } from "../support/metrics/exposition-parser.ts";
import { decodeFamilies } from "../support/metrics/protobuf-decoder.ts";
import { fullMetricsSnapshot, sampleMetricsSnapshot } from "../support/samples.ts";
import { METRICS } from "../../src/app/features/shown.ts";

const ADAPTER = new URL("../../src/exposition/exposition.ts", import.meta.url).href;
const TEXT = new URL("../../src/exposition/text.ts", import.meta.url).href;
const promtool = requireBinary("promtool");

/** Runs a module in a process of its own, with a snapshot that has nothing in it. */
function runApart(program: string): { status: number | null; stdout: string } {
  const module = `
    import { scrape } from ${JSON.stringify(ADAPTER)};
    import { TextFormat } from ${JSON.stringify(TEXT)};
    const reload = { successful: true, lastSuccessAtMs: 0 };
    const build = { version: "0.1.0", node: "24" };
    const snapshot = () => ({ upstreams: [], budgets: [], reload, build, startedAtMs: 0 });
    const text = async () => Array.from(await scrape([], snapshot, new TextFormat(false)), (piece) => Buffer.from(piece ?? "").toString()).join("");
    ${program}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", module], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    encoding: "utf8",
    timeout: 120_000,
  });
  expect(stderr).toBe("");
  return { status, stdout };
}

async function bytesOf(snapshot: () => MetricsSnapshot, format: Format): Promise<Buffer> {
  return Buffer.concat(
    Array.from(await scrape(METRICS, snapshot, format), (piece) => Buffer.from(piece ?? "")),
  );
}

async function textOf(snapshot: () => MetricsSnapshot): Promise<string> {
  return (await bytesOf(snapshot, new TextFormat(false))).toString();
}

test("our metrics come first, then those of the process, and all of it can be read", async () => {
  const names = [...parseExposition(await textOf(fullMetricsSnapshot)).keys()];
  const ours = names.slice(0, CATALOGUE.length);
  expect(ours.toSorted()).toEqual(CATALOGUE.map(({ name }) => name).toSorted());
  const rest = names.slice(CATALOGUE.length);
  expect(rest).toContain("process_resident_memory_bytes");
  expect(rest).toContain("nodejs_eventloop_lag_seconds");
  expect(rest.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([]);
});

test("the metrics of the process are the same in protobuf, histograms included", async () => {
  // A collection of garbage, so that its histogram counts something.
  let kept: unknown[] = [];
  await eventually("garbage was collected", async () => {
    kept = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    const shown = parseExposition(await textOf(sampleMetricsSnapshot));
    return sumOfSamples(shown, "nodejs_gc_duration_seconds_count") > 0;
  });
  expect(kept).toHaveLength(100_000);
  const families = decodeFamilies(await bytesOf(sampleMetricsSnapshot, new ProtobufFormat()));
  const duration = families.get("nodejs_gc_duration_seconds");
  expect(duration?.type).toBe("histogram");
  for (const { labels, value } of duration?.metrics ?? []) {
    expect(labels["kind"]).toMatch(/./);
    if (typeof value === "number" || !("buckets" in value)) throw new Error("no histogram");
    const counts = value.buckets.map(([, count]) => count);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(value.count).toBeGreaterThanOrEqual(Math.max(...counts));
    expect(value.sum).toBeGreaterThan(0);
  }
  expect(families.get("process_cpu_seconds_total")?.type).toBe("counter");
});

test("between two scrapes nobody watches the process: no timer wakes it within a day", () => {
  const { stdout } = runApart(`
    import { createHook } from "node:async_hooks";
    import perfHooks from "node:perf_hooks";
    const everyMs = [];
    const observe = perfHooks.monitorEventLoopDelay;
    perfHooks.monitorEventLoopDelay = (options) => { everyMs.push(options?.resolution ?? 10); return observe(options); };
    createHook({ init: (_id, type, _cause, timer) => void (type === "Timeout" && everyMs.push(timer._idleTimeout)) }).enable();
    await text();
    console.log(JSON.stringify(everyMs));`);
  const everyMs: readonly number[] = JSON.parse(stdout);
  expect(everyMs.length).toBeGreaterThan(0);
  expect(everyMs.filter((ms) => ms < 24 * 3_600_000)).toEqual([]);
});

test("a hundred of them in one process observe it once", () => {
  const { stdout } = runApart(`
    let timers = 0;
    const setIntervalBefore = globalThis.setInterval;
    globalThis.setInterval = (...rest) => { timers += 1; return setIntervalBefore(...rest); };
    for (let i = 0; i < 100; i += 1) await text();
    console.log(timers);`);
  expect(Number(stdout)).toBe(1);
});

test("observing the process does not keep it alive", () => {
  const { status, stdout } = runApart(`console.log((await text()).length > 1000);`);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "true\n" });
});

test.skipIf(promtool === undefined)(
  "promtool reads the whole, and finds fault with the library's names alone",
  async () => {
    const input = await textOf(fullMetricsSnapshot);
    const { status, stdout, stderr } = spawnSync(promtool ?? "", ["check", "metrics"], {
      input,
      encoding: "utf8",
    });
    const complaints = (stdout + stderr)
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("nodejs_"));
    expect(complaints).toEqual([]);
    // 3 is advice on style; 1 would be a text that it cannot read.
    expect([0, 3]).toContain(status);
  },
);
