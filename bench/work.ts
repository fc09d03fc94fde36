/**
 * What one poll makes: bytes, promises, timers, listeners, turns of the event loop: `node bench/work.ts`. These are
 * counts, so any machine shows the same. With `--by-function` also who allocates.
 */

import { createHook } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemClock } from "../src/adapters/clock.ts";
import { NameResolver } from "../src/adapters/dns/name-resolver.ts";
import { createLogger } from "../src/adapters/log/logger.ts";
import { KnownKeys } from "../src/adapters/secrets/known-keys.ts";
import { AppPolling } from "../src/app/polling.ts";
import { load } from "../src/config/load.ts";
import { LocalLedger } from "../src/core/budget/local-ledger.ts";
import { certificates } from "../test/support/certificates.ts";
import { CA_FILE, keysOf, pacewatchConfig, type Fleet } from "./programs/pacewatch-config.ts";
import { PlainUpstream } from "./programs/plain-upstream.ts";

const UPSTREAMS = 50;
const WARM_UP_MS = 4_000;
const WINDOW_MS = 4_000;
/** Bytes between two samples: so small that what one poll allocates is seen in full. */
const SAMPLE_BYTES = 64;

const NAMES: ReadonlyMap<string, string> = new Map([
  ["PROMISE", "promises"],
  ["Timeout", "timers"],
  ["Immediate", "immediates"],
  ["TickObject", "ticks"],
]);

type Counts = Readonly<Record<string, number>>;
type Allocation = { readonly where: string; readonly bytes: number };

const { values } = parseArgs({ options: { "by-function": { type: "boolean" } } });
for (const scheme of ["http", "https"] as const) {
  for (const connection of ["fresh", "reuse"] as const) await show(scheme, connection);
}

async function show(scheme: "http" | "https", connection: Fleet["connection"]): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await PlainUpstream.start(certificates().server));
  const polls = await startPolling(
    scheme === "http" ? upstream.httpUrl : upstream.httpsUrl,
    connection,
    stack,
  );
  await sleep(WARM_UP_MS);
  const counts = await counted(polls);
  const allocations = await allocated(polls);
  const bytes = allocations.reduce((sum, each) => sum + each.bytes, 0);
  console.log(`\n${scheme}, ${connection}: of one poll`);
  for (const [what, count] of Object.entries({ bytes, ...counts }))
    console.log(`${count.toFixed(what === "bytes" ? 0 : 2).padStart(9)}  ${what}`);
  if (values["by-function"] !== true) return;
  for (const { where, bytes: own } of allocations.slice(0, 60))
    console.log(`${own.toFixed(0).padStart(9)}  ${where}`);
}

/** All of the way of a poll, as the daemon puts it together. Returns how many polls there were. */
async function startPolling(
  url: string,
  connection: Fleet["connection"],
  stack: AsyncDisposableStack,
): Promise<() => number> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-work-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, CA_FILE), certificates().ca.cert);
  const path = join(folder, "pacewatch.yaml");
  const schedule = { every: "1s" };
  const fleet = { upstreams: UPSTREAMS, schedule, baseUrl: () => url, connection, caFile: CA_FILE };
  await writeFile(path, pacewatchConfig(fleet));
  const environment = keysOf(UPSTREAMS);
  const loaded = await load(path, { environment });
  if (loaded.kind === "refused") throw new Error(loaded.faults.map(({ message }) => message).join("\n"));
  const { config } = loaded;
  const polling = new AppPolling(config, {
    clock: systemClock,
    environment,
    keys: new KnownKeys([]),
    log: createLogger({ level: "info", out: { write: () => undefined } }),
    names: new NameResolver({ clock: systemClock }),
    ledger: new LocalLedger(config, systemClock),
    store: undefined,
    holdings: undefined,
    stopping: new AbortController().signal,
    onBug: (error) => {
      throw error;
    },
  });
  stack.use(polling);
  const opened = await polling.open(config);
  if (opened.kind === "refused") throw new Error(opened.faults.join("\n"));
  polling.apply(config, opened.what);
  return () =>
    config.upstreams.reduce(
      (sum, { name }) => sum + (polling.recordOf(name)?.accounts.durations.ok?.count ?? 0),
      0,
    );
}

async function counted(polls: () => number): Promise<Counts> {
  const made = new Map<string, number>();
  const count = (what: string): void => void made.set(what, (made.get(what) ?? 0) + 1);
  const hook = createHook({ init: (_id, type) => count(NAMES.get(type) ?? `of Node.js: ${type}`) });
  const restore = [
    countingCalls(EventEmitter.prototype, ["on", "addListener", "once", "prependListener"], () =>
      count("listeners"),
    ),
    countingCalls(EventTarget.prototype, ["addEventListener"], () => count("listeners of signals")),
    countingCalls(globalThis, ["AbortController"], () => count("abort controllers")),
  ];
  const turnsBefore = performance.nodeTiming.uvMetricsInfo.loopCount;
  const before = polls();
  hook.enable();
  await sleep(WINDOW_MS);
  hook.disable();
  for (const each of restore) each();
  const many = polls() - before;
  made.set("turns of the loop", performance.nodeTiming.uvMetricsInfo.loopCount - turnsBefore);
  return Object.fromEntries(
    [...made].toSorted(([a], [b]) => a.localeCompare(b)).map(([what, total]) => [what, total / many]),
  );
}

/** `once` calls `on`: only the outer call counts. */
function countingCalls(owner: object, names: readonly string[], count: () => void): () => void {
  let depth = 0;
  const originals = names.map((name) => [name, Reflect.get(owner, name)] as const);
  for (const [name, original] of originals) {
    const handler: ProxyHandler<typeof original> = {
      apply: (target, self, args) => {
        if (depth === 0) count();
        depth += 1;
        try {
          return Reflect.apply(target, self, args);
        } finally {
          depth -= 1;
        }
      },
      construct: (target, args) => {
        count();
        return Reflect.construct(target, args);
      },
    };
    Reflect.set(owner, name, new Proxy(original, handler));
  }
  return () => {
    for (const [name, original] of originals) Reflect.set(owner, name, original);
  };
}

/** Of one poll, by function; what was collected meanwhile is counted too. */
async function allocated(polls: () => number): Promise<readonly Allocation[]> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.startSampling", {
    samplingInterval: SAMPLE_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  const before = polls();
  await sleep(WINDOW_MS);
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  const many = polls() - before;
  const bytes = new Map<string, number>();
  // What V8 itself allocates is its caller's.
  const open = [{ node: profile.head, caller: "" }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const { functionName, url, lineNumber } = each.node.callFrame;
    const name = functionName || "(anonymous)";
    const where =
      url === ""
        ? `${name} of ${each.caller}`
        : `${name} ${url.replace(/^.*\/(?=[^/]+\/[^/]+$)/, "")}:${lineNumber + 1}`;
    bytes.set(where, (bytes.get(where) ?? 0) + each.node.selfSize / many);
    open.push(...each.node.children.map((node) => ({ node, caller: url === "" ? each.caller : where })));
  }
  return [...bytes].map(([where, own]) => ({ where, bytes: own })).toSorted((a, b) => b.bytes - a.bytes);
}
