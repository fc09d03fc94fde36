import { opened } from "../../support/opened.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { openStateStore } from "../../../src/features/state/store.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import { quotasIn } from "../../../src/features/quota/quota.ts";
import { History } from "../../../src/features/history/history.ts";
import { UpstreamRecord } from "../../../src/features/history/upstream-record.ts";
import { sampleBudget, sampleConfig, samplePoll } from "../../support/kernel-samples.ts";

/**
 * Sends and records a poll every few milliseconds, until it is killed. It tells each one before it is sent and once
 * it is recorded, with the moment, so that whoever kills it knows what must be in the file.
 */
const [path = "", life = ""] = process.argv.slice(2);
const say = (_: object, msg: string): void => void process.stdout.write(`log ${msg}\n`);
const log = { debug: say, info: say, warn: say, error: say };

const store = opened(await openStateStore({ path, log, clock: systemClock }));
const quota = {
  most: 1_000_000,
  perMs: 2_592_000_000,
  onExhaust: "stop",
} as const;
const rates = [{ requests: 1_000, perMs: 1_000, label: "1s" }];
const config = sampleConfig({
  budgets: [sampleBudget({ name: "api", share: 0.5, rates, lingerMs: 0, quota })],
  upstreams: [],
});
const ledger = new TestLedger(config, systemClock, { quotas: quotasIn([store]), homes: [store] });
const { quotas } = ledger;
store.readAfterTrouble(() => quotas.notes);
const history = new History("email", Date.now(), store.restored("email"));
const record = new UpstreamRecord(history, [store.recorderOf("email", history)]);
const { used, unconfirmed } = quotas.of("api", "requests") ?? {};
process.stdout.write(`restored ${history.lastPolls.length} ${used} ${unconfirmed}\n`);

let polls = 0;
let asking = Promise.resolve();
setInterval(() => void (asking = asking.then(poll)), 5);

async function poll(): Promise<void> {
  const decision = await ledger.ask(["api"]);
  if (decision.kind === "wait") return;
  polls += 1;
  process.stdout.write(`sent ${polls}\n`);
  // As the daemon sees it: no poll is ok in an incident, and the first of a life ends what the last one left.
  const isDown = polls >= 10 && polls % 10 < 5;
  const outcome = isDown
    ? ({ kind: "failed", reason: "timeout" } as const)
    : ({ kind: "ok", reason: "" } as const);
  const endedAtMs = Date.now();
  record.record({
    kind: "polled",
    poll: samplePoll({ id: `${life}/${polls}`, outcome, sentAtMs: endedAtMs - 1, endedAtMs }),
  });
  if (polls % 10 === 0) record.record({ kind: "health_changed", from: "up", to: "down", atMs: endedAtMs });
  if (polls === 1 || polls % 10 === 5)
    record.record({ kind: "health_changed", from: "down", to: "up", atMs: endedAtMs });
  process.stdout.write(`poll ${polls} ${endedAtMs}\n`);
  decision.lease.settle("answered");
}
