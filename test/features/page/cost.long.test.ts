import { expect, test } from "vitest";
import type { Pieces } from "../../../src/http/routes/pieces.ts";
import { BLOCKS } from "../../../src/app/features/shown.ts";
import { renderStatusPage } from "../../../src/features/page/status-page.ts";
import { FIRST_VIEW } from "../../../src/features/page/shell.ts";
import { play, POLL_RUNS, snapshotOf } from "../../support/page/page-scenes.ts";
import { statusOf } from "../../support/samples.ts";

const WARM_UPS = 40;
const RUNS = 60;
/** Times the cost of writing the same snapshot as JSON, which is native and as fast as it gets; seen: 3 to 4. */
const AT_MOST_TIMES_JSON = 20;

function cpuMsOf(work: () => unknown): number {
  for (let run = 0; run < WARM_UPS; run += 1) work();
  const before = process.cpuUsage();
  for (let run = 0; run < RUNS; run += 1) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / RUNS;
}

function finish(work: Pieces): void {
  while (work.next().done !== true);
}

function upstreams(count: number): Parameters<typeof snapshotOf>[0] {
  const runs = Object.values(POLL_RUNS);
  return Array.from({ length: count }, (_, index) =>
    play({ name: `upstream-${index}`, everyMs: 5_000, runs: runs[index % runs.length] ?? [] }),
  );
}

test("a page of fifty upstreams in every state costs little, and twice as many about twice as much", () => {
  const fifty = snapshotOf(upstreams(50));
  const pageMs = cpuMsOf(() => finish(renderStatusPage(statusOf(fifty), FIRST_VIEW, BLOCKS)));
  const jsonMs = cpuMsOf(() => JSON.stringify(fifty));
  process.stdout.write(
    `status page: ${pageMs.toFixed(1)} ms of CPU for 50 upstreams; as JSON ${jsonMs.toFixed(1)} ms\n`,
  );
  expect(pageMs).toBeLessThan(AT_MOST_TIMES_JSON * jsonMs);
  const hundred = snapshotOf(upstreams(100));
  const doubleMs = cpuMsOf(() => finish(renderStatusPage(statusOf(hundred), FIRST_VIEW, BLOCKS)));
  expect(doubleMs).toBeLessThan(5 * pageMs);
});
