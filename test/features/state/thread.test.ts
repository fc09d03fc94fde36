import { readdirSync, symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { Completeness } from "../../../src/features/state/completeness.ts";
import { SqliteThread } from "../../../src/features/state/thread.ts";
import type { ColumnsQuestion } from "../../../src/features/history/state.ts";
import { batchAt, NOW_MS, savedAt, StateBench } from "./bench.ts";

test("the thread opens, writes and closes the file; after a crash, the next batch starts another thread", async () => {
  await using bench = await StateBench.make();
  const thread = new SqliteThread(bench.path);
  expect(await thread.open(NOW_MS)).toMatchObject({ kind: "opened", trouble: undefined, notes: [] });
  expect(await thread.write(batchAt(NOW_MS, { polls: [savedAt(NOW_MS)] }))).toMatchObject({
    kind: "written",
  });
  // No poll ends at no time: this is a bug, and it ends the thread.
  const died = await thread.write(batchAt(NOW_MS, { polls: [savedAt(Number.NaN)] }));
  expect(died).toMatchObject({ kind: "died", error: { message: expect.stringContaining("NOT NULL") } });
  expect(await thread.write(batchAt(NOW_MS, { polls: [savedAt(NOW_MS + 1)] }))).toMatchObject({
    kind: "written",
  });
  // What was counted meanwhile comes with this batch and the next one.
  expect(new Completeness(bench.path).isComplete).toBe(false);
  await thread.write(batchAt(NOW_MS));
  expect(new Completeness(bench.path).isComplete).toBe(true);
  await thread.close();
  expect(bench.query("SELECT ended_at_ms FROM polls")).toEqual([
    { ended_at_ms: NOW_MS },
    { ended_at_ms: NOW_MS + 1 },
  ]);
});

test("the columns of a plot are read in the thread; a file that is not open, and a thread that ends, have none", async () => {
  await using bench = await StateBench.make();
  const thread = new SqliteThread(bench.path);
  const question = { upstream: "email", fromMs: NOW_MS - 60_000, toMs: NOW_MS, columnMs: 60_000 };
  expect(await thread.columns(question)).toBeUndefined();
  await thread.open(NOW_MS);
  await thread.write(batchAt(NOW_MS, { polls: [savedAt(NOW_MS)] }));
  expect(await thread.columns(question)).toMatchObject({ columns: [{ counts: { ok: 1 } }] });
  // No upstream is called so: this is a bug, and it ends the thread.
  const unanswerable: ColumnsQuestion = { ...question, upstream: JSON.parse("[1]") };
  expect(await thread.columns(unanswerable)).toBeUndefined();
  await thread.close();
});

test("on a disk without room for the word that the file lacks something, no file stays open for each try", async () => {
  await using bench = await StateBench.make();
  symlinkSync("/dev/full", `${bench.path}.complete`);
  const completeness = new Completeness(bench.path);
  const openFiles = (): number => readdirSync("/proc/self/fd").length;
  const before = openFiles();
  for (let turn = 0; turn < 10; turn += 1) completeness.tell(false);
  expect(openFiles()).toBeLessThan(before + 5);
});
