import { systemClock } from "../../../src/adapters/clock.ts";
import { openStateStore } from "../../../src/adapters/sqlite/store.ts";
import { History } from "../../../src/core/history/history.ts";
import { UpstreamRecord } from "../../../src/core/history/upstream-record.ts";
import { samplePoll } from "../../support/samples.ts";

/**
 * Records a poll every few milliseconds, until it is killed. It tells each one once it is recorded, with the
 * moment, so that whoever kills it knows what must be in the file.
 */
const [path = "", life = ""] = process.argv.slice(2);
const say = (_: object, msg: string): void => void process.stdout.write(`log ${msg}\n`);
const log = { debug: say, info: say, warn: say, error: say };

const opened = await openStateStore({ path, log, clock: systemClock });
if (opened.kind === "refused") throw new Error(opened.message);
const { store } = opened;
const buckets = new Map(store.restoredQuotas.get("api"));
const restored = [...buckets.values()].reduce((sum, requests) => sum + requests, 0);
await store.keepQuotas(
  () => new Map([["api", { buckets, paceGapMs: 4, quota: { requests: 1_000_000, perMs: 2_592_000_000 } }]]),
);
const history = new History("email", Date.now(), store.restored("email"));
const record = new UpstreamRecord(history, [store.recorderOf("email", history)]);
process.stdout.write(`restored ${history.lastPolls.length} ${restored}\n`);

let polls = 0;
setInterval(() => {
  const hour = Math.floor(Date.now() / 3_600_000);
  buckets.set(hour, (buckets.get(hour) ?? 0) + 1);
  polls += 1;
  const outcome =
    polls % 3 === 0 ? ({ kind: "failed", reason: "timeout" } as const) : ({ kind: "ok" } as const);
  const endedAtMs = Date.now();
  record.record({
    kind: "polled",
    poll: samplePoll({ id: `${life}/${polls}`, outcome, sentAtMs: endedAtMs - 1, endedAtMs }),
  });
  if (polls % 10 === 0) record.record({ kind: "health_changed", from: "up", to: "down", atMs: endedAtMs });
  if (polls % 10 === 5) record.record({ kind: "health_changed", from: "down", to: "up", atMs: endedAtMs });
  process.stdout.write(`poll ${polls} ${endedAtMs}\n`);
}, 5);
