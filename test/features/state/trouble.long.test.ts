import { quotasKept } from "../../support/kept-quotas.ts";
import { existsSync, linkSync, mkdirSync, renameSync, rmdirSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sampleQuotaNote, sampleQuotaRow } from "../../support/samples.ts";
import { describe, expect, test } from "vitest";
import { Immutable, SmallDisk } from "./disks.ts";
import { NOW_MS, restoredOf, StateBench, stateErrors, TIMEOUT } from "./bench.ts";

const COUNTED = sampleQuotaRow({ hour: Math.floor(NOW_MS / 3_600_000), requests: 40 });
const IN_USE = "is in use by another pacewatch, or locked by another program";
const IN_MEMORY = "history and quotas are kept in memory until it can be written";

/** Records until the store says that it is down. */
async function recordUntilDown(
  bench: StateBench,
  store: { readonly isUp: boolean },
  record: () => void,
): Promise<void> {
  // Little by little: the thread waits for a lock in real time.
  await bench.until(() => {
    if (store.isUp) record();
    return !store.isUp;
  }, 10);
}

describe("a full disk", () => {
  test("is told once, stops nobody, and nothing is lost once there is room again", async ({ skip }) => {
    await using bench = await StateBench.make({ hasThread: true });
    using disk = SmallDisk.mount(join(bench.directory, "disk"), "1m") ?? skip("needs the right to mount");
    bench.path = join(disk.path, "pacewatch.db");
    const store = await bench.open();
    const record = bench.recordOf(store);
    let polls = 0;
    const pollTwentyTimes = (): void => {
      for (let turn = 0; turn < 20; turn += 1) bench.poll(record, TIMEOUT, `poll-${(polls += 1)}`);
    };
    disk.fill();
    await recordUntilDown(bench, store, pollTwentyTimes);
    pollTwentyTimes();
    await bench.clock.advance(60_000);
    expect(record.history.lastPolls).toHaveLength(Math.min(polls, 60));
    expect(stateErrors(bench)).toEqual([`the state file is on a disk that is full: ${IN_MEMORY}`]);

    disk.empty();
    await bench.until(() => store.isUp);
    await store.close();
    expect(bench.query("SELECT count(DISTINCT poll) AS n, count(*) AS rows FROM polls")).toEqual([
      { n: polls, rows: polls },
    ]);
    expect(bench.query("SELECT sum(polls) AS n FROM hours")).toEqual([{ n: polls }]);
    expect(bench.logged.at(-1)).toEqual({ level: "info", msg: "the state file can be written again" });
  });

  test("at the start hides no history and no quota", async ({ skip }) => {
    await using bench = await StateBench.make({ hasThread: true });
    using disk = SmallDisk.mount(join(bench.directory, "disk"), "1m") ?? skip("needs the right to mount");
    bench.path = join(disk.path, "pacewatch.db");
    const first = await bench.open();
    bench.poll(bench.recordOf(first), TIMEOUT);
    void first.write([sampleQuotaNote(COUNTED)]);
    await first.close();

    disk.fill();
    const second = await bench.open();
    expect(second.isUp).toBe(false);
    expect(quotasKept(second).rows).toEqual([COUNTED]);
    const record = bench.recordOf(second);
    expect(record.history.lastFailures).toHaveLength(1);
    disk.empty();
    bench.poll(record);
    await bench.until(() => second.isUp);
    expect(bench.count("polls")).toBe(2);
  });

  test("without a past is no reason not to start", async ({ skip }) => {
    await using bench = await StateBench.make({ hasThread: true });
    using disk = SmallDisk.mount(join(bench.directory, "disk"), "200k") ?? skip("needs the right to mount");
    bench.path = join(disk.path, "pacewatch.db");
    disk.fill();
    const store = await bench.open();
    expect(store.isUp).toBe(false);
    disk.empty();
    await bench.until(() => store.isUp);
  });
});

describe("a file that is made read-only", () => {
  test("while it is in use is told, stops nobody, and is written again when it may be", async ({ skip }) => {
    await using bench = await StateBench.make({ hasThread: true });
    const store = await bench.open();
    const record = bench.recordOf(store);
    bench.poll(record);
    await bench.written(1);
    {
      using _ = Immutable.make(bench.path) ?? skip("needs the right to make files immutable");
      await recordUntilDown(bench, store, () => bench.poll(record));
      expect(stateErrors(bench)).toEqual([expect.stringMatching(`${IN_MEMORY}$`)]);
    }
    await bench.until(() => store.isUp);
    await store.close();
    expect(bench.query("SELECT count(*) AS n FROM polls")).toEqual(
      bench.query("SELECT sum(polls) AS n FROM hours"),
    );
    expect((await restoredOf(bench))?.polls.added).toBeGreaterThan(1);
  });

  test("before the start is refused", async ({ skip }) => {
    await using bench = await StateBench.make({ hasThread: true });
    await (await bench.open()).close();
    using _ = Immutable.make(bench.path) ?? skip("needs the right to make files immutable");
    expect(await bench.refusal()).toBe(
      `cannot keep state: "${bench.path}" must be a file that can be read and written, received one that is read-only`,
    );
  });
});

describe("a file that is held locked", () => {
  test("cannot be one that is in use: it is locked for its daemon alone, whatever name leads to it", async () => {
    await using bench = await StateBench.make({ hasThread: true });
    const store = await bench.open();
    const [file, link, copy] = [
      bench.path,
      join(bench.directory, "link.db"),
      join(bench.directory, "hard.db"),
    ];
    symlinkSync(file, link);
    linkSync(file, copy);
    for (const path of [file, link, copy]) {
      bench.path = path;
      expect(await bench.refusal()).toBe(
        `cannot keep state: "${path}" must be a file that can be read and written, received one that ${IN_USE}`,
      );
    }
    expect(store.isUp).toBe(true);
    await store.close();
    expect(await bench.refusal()).toBe("it opened");
  });

  test("so that it cannot even be read, is refused: nobody knows what was spent of the quotas", async () => {
    await using bench = await StateBench.make({ hasThread: true });
    await (await bench.open()).close();
    const other = new DatabaseSync(bench.path);
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    expect(await bench.refusal()).toContain(`received one that ${IN_USE}`);
    other.close();
  });
});

test("a damaged file that cannot be moved aside is refused, and stays", async ({ skip }) => {
  await using bench = await StateBench.make({ hasThread: true });
  await (await bench.open()).close();
  truncateSync(bench.path, 5_000);
  using _ = Immutable.make(bench.directory) ?? skip("needs the right to make files immutable");
  expect(await bench.refusal()).toMatch(/received one that is damaged.*cannot be moved aside/);
  expect(existsSync(bench.path)).toBe(true);
});

test("whatever cannot be written is bounded: the oldest polls are lost, and it is told how many", async () => {
  await using bench = await StateBench.make({ hasThread: true });
  const store = await bench.open();
  const record = bench.recordOf(store);
  renameSync(bench.path, `${bench.path}.elsewhere`);
  mkdirSync(bench.path);
  for (let turn = 1; turn <= 12_000; turn += 1)
    bench.poll(record, { kind: "ok", reason: "" }, `poll-${turn}`);
  await bench.until(() => !store.isUp);
  rmdirSync(bench.path);
  await bench.until(() => store.isUp);
  await store.close();
  expect(bench.query("SELECT count(*) AS n FROM polls WHERE poll IN ('poll-2001', 'poll-12000')")).toEqual([
    { n: 2 },
  ]);
  expect(bench.count("polls")).toBe(10_000);
});
