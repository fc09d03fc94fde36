import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createMetrics, type ScrapedText } from "../../../src/adapters/metrics/metrics.ts";
import { UpstreamAccounts } from "../../../src/core/metrics/accounts.ts";
import { METRIC_NAMES } from "../../../src/core/metrics/catalogue.ts";
import { SLOT_STARTED, SLOT_WAITING } from "../../../src/core/poll/ports.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import {
  parseExposition,
  sampleValue,
  sumOfSamples,
  type Families,
} from "../../support/metrics/exposition-parser.ts";
import {
  fullMetricsSnapshot,
  sampleMetricsSnapshot,
  samplePoll,
  sampleUpstreamSnapshot,
  recordPoll,
} from "../../support/samples.ts";

const ADAPTER = new URL("../../../src/adapters/metrics/metrics.ts", import.meta.url).href;
const promtool = requireBinary("promtool");

/** Runs a module in a process of its own, with a snapshot that has nothing in it. */
function runApart(program: string): { status: number | null; stdout: string } {
  const module = `
    import { createMetrics } from ${JSON.stringify(ADAPTER)};
    const reload = { successful: true, lastSuccessAtMs: 0 };
    const build = { version: "0.1.0", node: "24" };
    const snapshot = () => ({ upstreams: [], budgets: [], stateStoreUp: undefined, reload, build });
    ${program}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", module], {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    encoding: "utf8",
    timeout: 120_000,
  });
  expect(stderr).toBe("");
  return { status, stdout };
}

function fail(error: unknown): void {
  throw error;
}

async function textOf(text: ScrapedText): Promise<string> {
  if (!("gzipped" in text)) return (await Array.fromAsync(text.pieces)).join("");
  return gunzipSync(Buffer.concat(await Array.fromAsync(text.gzipped))).toString("utf8");
}

function accountsAreClosed(shown: Families): boolean {
  const ended =
    sumOfSamples(shown, "pacewatch_polls_total") + sumOfSamples(shown, "pacewatch_polls_skipped_total");
  return (
    sampleValue(shown, "pacewatch_slots_total") === ended + sumOfSamples(shown, "pacewatch_polls_in_flight")
  );
}

test("our metrics come first, then those of the process, and all of it can be read", async () => {
  const names = [...parseExposition(await textOf(createMetrics(fullMetricsSnapshot, fail).render())).keys()];
  expect(names.slice(0, METRIC_NAMES.length)).toEqual(METRIC_NAMES);
  const rest = names.slice(METRIC_NAMES.length);
  expect(rest).toContain("process_resident_memory_bytes");
  expect(rest).toContain("nodejs_eventloop_lag_seconds");
  expect(rest.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([]);
});

test("a scrape shows the moment at which it was asked for, whatever happens before it is answered", async () => {
  const accounts = new UpstreamAccounts();
  const metrics = createMetrics(
    () => sampleMetricsSnapshot({ upstreams: [sampleUpstreamSnapshot({ accounts })] }),
    fail,
  );
  accounts.record(SLOT_WAITING);
  accounts.record(SLOT_STARTED);
  queueMicrotask(() => recordPoll(accounts, samplePoll()));
  const scrape = metrics.render();
  accounts.record({ kind: "slots_skipped", cause: "overlap", count: 1, hadWaited: false });
  const shown = parseExposition(await textOf(scrape));
  expect(accounts.totalPolls).toBe(1);
  expect(sampleValue(shown, "pacewatch_slots_total")).toBe(1);
  expect(sampleValue(shown, "pacewatch_polls_in_flight")).toBe(1);
  expect(sumOfSamples(shown, "pacewatch_polls_total")).toBe(0);
  expect(sumOfSamples(shown, "pacewatch_poll_duration_seconds_count")).toBe(0);
  expect(accountsAreClosed(shown)).toBe(true);
  expect(accountsAreClosed(parseExposition(await textOf(metrics.render())))).toBe(true);
});

test("between two scrapes nobody watches the process: no timer wakes it within a day", () => {
  const { stdout } = runApart(`
    import { createHook } from "node:async_hooks";
    import perfHooks from "node:perf_hooks";
    const everyMs = [];
    const observe = perfHooks.monitorEventLoopDelay;
    perfHooks.monitorEventLoopDelay = (options) => { everyMs.push(options?.resolution ?? 10); return observe(options); };
    createHook({ init: (_id, type, _cause, timer) => void (type === "Timeout" && everyMs.push(timer._idleTimeout)) }).enable();
    await Array.fromAsync(createMetrics(snapshot, console.error).render().pieces);
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
    for (let i = 0; i < 100; i += 1) await Array.fromAsync(createMetrics(snapshot, console.error).render().pieces);
    console.log(timers);`);
  expect(Number(stdout)).toBe(1);
});

test("observing the process does not keep it alive", () => {
  const { status, stdout } = runApart(
    `console.log((await Array.fromAsync(createMetrics(snapshot, console.error).render().pieces)).join("").length > 1000);`,
  );
  expect({ status, stdout }).toEqual({ status: 0, stdout: "true\n" });
});

test.skipIf(promtool === undefined)(
  "promtool reads the whole, and finds fault with the library's names alone",
  async () => {
    const input = await textOf(createMetrics(fullMetricsSnapshot, fail).render());
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
