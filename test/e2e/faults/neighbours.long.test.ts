import { expect, it } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleValue, sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { accountOf, openAccounts } from "../../support/metrics/slot-accounts.ts";

const POLLS = 4;
/** Longer than anything here takes, and as long as one that hangs may keep its lease without a rest after the start. */
const HANGS_S = 50;

it("an upstream that hangs, one that is dead, one that throttles and one without a lease delay no neighbour on another budget", async () => {
  await using healthy = await startSimulatedUpstream({ name: "healthy" });
  await using hanging = await startSimulatedUpstream({ name: "hanging" });
  hanging.setFault({ kind: "hang", at: "mid_body" });
  await using throttling = await startSimulatedUpstream({ name: "throttling" });
  throttling.setFault({ kind: "throttle", retryAfter: "60" });
  const rate = { rate: { requests: 600, per: "1m" }, share: "50%" };
  await using folder = await openConfigFolder({
    budgets: {
      healthy: rate,
      hanging: rate,
      dead: rate,
      throttling: rate,
      // After its start it stays silent for a whole window.
      starving: { rate: { requests: 60, per: "1m" }, share: "100%" },
    },
    upstreams: [
      rawUpstream("hanging", hanging.url, { budget: "hanging", timeout: `${HANGS_S}s` }),
      rawUpstream("dead", "http://127.0.0.1:9", { budget: "dead", confirm: 3 }),
      rawUpstream("throttling", throttling.url, { budget: "throttling" }),
      rawUpstream("starving", healthy.url, { budget: "starving" }),
      rawUpstream("healthy", healthy.url, { budget: "healthy" }),
    ],
  });
  await using daemon = await startDaemon({ configPath: folder.path });
  const started = await eventually(
    "the healthy upstream is polled",
    () => daemon.metrics(),
    (scrape) => accountOf(scrape, "healthy").polls > 0,
  );
  const families = await eventually(
    "the healthy upstream is polled often enough",
    () => daemon.metrics(),
    (scrape) => accountOf(scrape, "healthy").polls >= POLLS,
  );
  expect(sampleValue(families, "pacewatch_polls_in_flight", { upstream: "hanging" })).toBe(1);
  expect(accountOf(families, "starving").polls).toBe(0);
  expect(
    sumOfSamples(families, "pacewatch_poll_reasons_total", { upstream: "dead", reason: "connect" }),
  ).toBeGreaterThan(0);
  expect(
    sumOfSamples(families, "pacewatch_polls_skipped_total", { upstream: "throttling", cause: "backoff" }),
  ).toBeGreaterThan(0);

  expect(
    sumOfSamples(families, "pacewatch_polls_total", { upstream: "healthy", outcome: "ok" }),
  ).toBeGreaterThanOrEqual(POLLS);
  // A slot that comes while its budget still waits for what the process before it may have sent is skipped. After that,
  // what a busy machine may cost by itself is missed slots and overlaps: those are nobody's neighbour.
  for (const cause of ["budget", "backoff", "yield"]) {
    const labels = { upstream: "healthy", cause };
    expect([cause, sampleValue(families, "pacewatch_polls_skipped_total", labels)]).toEqual([
      cause,
      sampleValue(started, "pacewatch_polls_skipped_total", labels),
    ]);
  }
  // Behind the one that hangs, none would have been sent before its poll ends.
  expect(accountOf(families, "hanging").polls).toBeLessThan(accountOf(families, "healthy").polls - 1);
  expect(sampleValue(families, "pacewatch_upstream_up", { upstream: "healthy" })).toBe(1);
  expect(openAccounts(families)).toEqual([]);
});
