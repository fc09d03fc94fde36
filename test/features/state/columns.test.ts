import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { readColumns } from "../../../src/features/state/columns.ts";
import { createTables } from "../../../src/features/state/schema.ts";
import { StateWriter } from "../../../src/features/state/writing.ts";
import { OK, outcomeOf, type PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import type { SavedPoll } from "../../../src/features/history/state.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { StateBench } from "./bench.ts";
import { pollStatusOf } from "../../../src/features/history/kept-poll.ts";

const MINUTE_MS = 60_000;

function saved(
  endedAtMs: number,
  durationMs: number,
  outcome: PollOutcome = OK,
  upstream = "email",
): SavedPoll {
  const status = pollStatusOf(samplePoll({ id: `${upstream} ${endedAtMs}`, outcome, durationMs }));
  return {
    upstream,
    endedAtMs,
    withinObjective: true,
    watchedMs: outcome.kind === "throttled" ? 0 : 15_000,
    status,
  };
}

function databaseWith(polls: readonly SavedPoll[]): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  createTables(database);
  new StateWriter(database).write({ polls, rows: [] });
  return database;
}

const question = (fromMs: number) => ({
  upstream: "email",
  fromMs,
  toMs: 60 * MINUTE_MS,
  columnMs: MINUTE_MS,
});

test("the columns of a range come of its single polls, with their quantiles", () => {
  const database = databaseWith([
    saved(MINUTE_MS - 1, 7),
    ...Array.from({ length: 20 }, (_, index) => saved(MINUTE_MS + index, 100 + index)),
    saved(MINUTE_MS + 30, 900, outcomeOf("timeout")),
    saved(2 * MINUTE_MS, 1, outcomeOf("rate")),
    saved(2 * MINUTE_MS, 5, OK, "ai-router"),
  ]);
  const none = { ok: 0, failed: 0, throttled: 0, rejected: 0, ours: 0 };
  expect(readColumns(database, question(MINUTE_MS))).toEqual({
    columnMs: MINUTE_MS,
    areQuantiles: true,
    columns: [
      {
        index: 1,
        counts: { ...none, ok: 20, failed: 1 },
        watchedMs: 21 * 15_000,
        failedMs: 15_000,
        latency: { middleMs: 109, highMs: 118, longestMs: 119 },
      },
      { index: 2, counts: { ...none, throttled: 1 }, watchedMs: 0, failedMs: 0, latency: undefined },
    ],
  });
});

test("where more polls were sent than are kept one by one, the minutes tell of them all", () => {
  const polls = Array.from({ length: 1_200 }, (_, index) => saved(index * 100, index < 600 ? 100 : 300));
  const database = databaseWith([...polls, saved(5 * MINUTE_MS, 900, OK, "ai-router")]);
  const all = readColumns(database, question(0));
  expect(all.areQuantiles).toBe(false);
  expect(all.columns.map(({ index, counts, latency }) => [index, counts.ok, latency?.middleMs])).toEqual([
    [0, 600, 100],
    [1, 600, 300],
  ]);
  expect(readColumns(database, { ...question(0), columnMs: 10 * MINUTE_MS }).columns).toEqual([
    {
      index: 0,
      counts: { ok: 1_200, failed: 0, throttled: 0, rejected: 0, ours: 0 },
      watchedMs: 1_200 * 15_000,
      failedMs: 0,
      latency: { middleMs: 200, highMs: 300, longestMs: 300 },
    },
  ]);
  expect(readColumns(database, question(MINUTE_MS)).areQuantiles).toBe(true);
});

test("a row that nobody would write is left out", () => {
  const database = databaseWith([saved(1, 1), saved(2, 2), saved(3, 3)]);
  database.exec("UPDATE polls SET facts = json_set(facts, '$.durationMs', 'long') WHERE ended_at_ms = 1");
  database.exec("UPDATE polls SET facts = '{ damaged' WHERE ended_at_ms = 2");
  expect(readColumns(database, question(0)).columns[0]?.counts.ok).toBe(1);
});

test("a page reads between two batches, and what cannot be read is nothing to it", async () => {
  await using bench = await StateBench.make({ hasThread: true });
  const { thread } = bench;
  expect(await thread.columns(question(0))).toBeUndefined();
  await thread.open(1);
  const batch = (poll: SavedPoll) => ({ polls: [poll], rows: [], nowMs: 1 });
  const asked = [
    thread.write(batch(saved(1, 1))),
    thread.columns(question(0)),
    thread.write(batch(saved(2, 1))),
    thread.columns(question(0)),
  ] as const;
  const [first, once, second, twice] = await Promise.all(asked);
  await thread.close();
  expect([first.kind, second.kind]).toEqual(["written", "written"]);
  expect([once, twice].map((seen) => seen?.columns[0]?.counts.ok)).toEqual([1, 2]);
});
