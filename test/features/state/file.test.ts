import { RollingCounts } from "../../../src/features/history/rolling-counts.ts";
import { quotaNotes } from "../../../src/features/quota/quota.ts";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { HELD, heldNote, NOTHING_HELD } from "../../../src/features/hints/record.ts";
import { PAUSES } from "../../../src/features/hints/pauses.ts";
import { notesOf } from "../../../src/kernel/text/notes.ts";
import { quotasKept } from "../../support/kept-quotas.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { keptIn } from "../../../src/features/report/report-rows.ts";
import { periodOf } from "../../../src/features/report/period.ts";
import { reportedOf } from "../../../src/features/report/report.ts";
import { samplePoll, sampleSchedule, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleQuotaNote, sampleQuotaRow } from "../../support/samples.ts";
import { StateFile } from "../../../src/features/state/file.ts";
import { newestVersion } from "../../../src/features/state/schema.ts";
import { outcomeOf } from "../../../src/kernel/exchange/outcome.ts";
import { NOW_MS, restoredOf, StateBench, stateErrors, TIMEOUT } from "./bench.ts";
import type { Incident } from "../../../src/features/history/incidents.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const IN_MEMORY = "history and quotas are kept in memory until it can be written";
const hourOf = (atMs: number): number => Math.floor(atMs / HOUR_MS);

describe("after a restart", () => {
  test("history is there: polls, failures for longer, availability, and what was seen of an answer", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    const record = bench.recordOf(first);
    const failure = samplePoll({
      id: "the failure",
      origin: "confirm",
      outcome: { kind: "failed", reason: "server_error" },
      sentAtMs: NOW_MS - 400,
      endedAtMs: NOW_MS,
      durationMs: 412.5,
      phasesMs: { dns: 1.5, wait: 400 },
      detail: "503 Service Unavailable",
      excerpt: '{"error":"we are sorry"}',
      head: {
        status: 503,
        headers: [
          { name: "x-request-id", bytes: 8, value: "req_7f3a" },
          { name: "set-cookie", bytes: 18 },
        ],
      },
    });
    record.record({ kind: "polled", poll: failure });
    for (let turn = 0; turn < 70; turn += 1) bench.poll(record, { kind: "ok", reason: "" }, `poll-${turn}`);
    await first.close();

    const restored = bench.recordOf(await bench.open()).history;
    expect(restored.lastPolls).toEqual(record.history.lastPolls);
    expect(restored.lastFailures).toEqual(record.history.lastFailures);
    expect(restored.lastFailures[0]).toMatchObject({
      id: "the failure",
      headers: [
        { name: "x-request-id", bytes: 8, value: "req_7f3a" },
        { name: "set-cookie", bytes: 18 },
      ],
    });
    expect(restored.availability(NOW_MS)).toEqual(record.history.availability(NOW_MS));
    expect(readFileSync(bench.path).includes("test-key-1")).toBe(false);
  });

  test("what failed because we were offline is still no failure of theirs, told at once or later", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    const waiting: (() => void)[] = [];
    const record = bench.recordOf(first, "email", (poll, judged) => {
      const isOurs = poll.id === "at once" || poll.id === "later";
      const tell = (): void => judged(isOurs ? { ...poll, outcome: outcomeOf("offline") } : poll);
      if (poll.id === "later") waiting.push(tell);
      else tell();
    });
    bench.poll(record);
    bench.clock.stepWall(1_000);
    bench.poll(record, TIMEOUT, "theirs");
    bench.clock.stepWall(1_000);
    bench.poll(record, TIMEOUT, "at once");
    bench.poll(record, TIMEOUT, "later");
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: bench.clock.wallNow() });
    await bench.written(3);
    for (const tell of waiting) tell();
    await first.close();

    const restored = bench.recordOf(await bench.open()).history;
    expect(restored.lastPolls).toEqual(record.history.lastPolls);
    expect(restored.lastPolls.map(({ outcome }) => outcome)).toEqual(["ok", "failed", "ours", "ours"]);
    expect(restored.incidents).toMatchObject([{ state: "down", reason: "offline" }]);
    for (const window of restored.availability(bench.clock.wallNow()))
      expect(window).toMatchObject({ watchedMs: 1_000, failedMs: 1_000 });
  });

  test("values are there, the newest of each hour", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    const record = bench.recordOf(first);
    const startMs = Math.ceil(NOW_MS / HOUR_MS) * HOUR_MS - 5 * HOUR_MS;
    for (let minute = 0; minute < 300; minute += 10) {
      const endedAtMs = startMs + minute * 60_000;
      const values = [{ name: "credits", value: 1_000 - minute }];
      record.record({
        kind: "polled",
        poll: samplePoll({ endedAtMs, said: { values: { values, unreadable: [] } } }),
      });
    }
    await first.close();
    expect(bench.count("value_hours")).toBe(5);

    const track = bench.recordOf(await bench.open()).history.tracks.of("credits");
    expect(track?.points.map(({ value }) => value)).toEqual(
      [40, 100, 160, 220, 280].map((minute) => 1_000 - minute),
    );
    expect(track?.points.at(-1)).toMatchObject({ value: 720, refilled: 0 });
  });

  test("an incident that was open stays open, and the first ok ends it, in the file too", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    const record = bench.recordOf(first);
    bench.poll(record, TIMEOUT);
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: NOW_MS });
    bench.poll(record, TIMEOUT);
    await first.close();

    const second = await bench.open();
    const next = bench.recordOf(second);
    expect(next.history.incidents).toEqual([
      {
        upstream: "email",
        state: "down",
        reason: "timeout",
        startedAtMs: NOW_MS,
        endedAtMs: undefined,
        polls: 2,
      },
    ]);
    bench.poll(next);
    next.record({ kind: "health_changed", from: "unknown", to: "up", atMs: NOW_MS + 9_000 });
    await second.close();
    expect((await restoredOf(bench))?.incidents).toMatchObject([
      { startedAtMs: NOW_MS, endedAtMs: NOW_MS + 9_000 },
    ]);
  });

  test("an incident keeps its first two polls and its newest, over a restart and after its end, and none of ours", async () => {
    await using bench = await StateBench.make();
    const evidence = (): readonly unknown[] =>
      bench
        .query("SELECT json(evidence) AS kept FROM incidents")
        .map(({ kept }) => JSON.parse(String(kept)).polls.map(({ id }: { id: string }) => id));
    const first = await bench.open();
    const record = bench.recordOf(first);
    bench.poll(record, TIMEOUT, "before-1");
    bench.poll(record, { kind: "ok", reason: "" }, "ok-1");
    bench.poll(record, { kind: "ours", reason: "offline" }, "ours-1");
    bench.poll(record, TIMEOUT, "fail-1");
    bench.poll(record, TIMEOUT, "fail-2");
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: NOW_MS });
    bench.poll(record, TIMEOUT, "fail-3");
    bench.poll(record, TIMEOUT, "fail-4");
    await first.close();
    expect(evidence()).toEqual([["fail-1", "fail-2", "fail-4"]]);

    const second = await bench.open();
    const next = bench.recordOf(second);
    bench.poll(next, TIMEOUT, "fail-5");
    bench.poll(next, { kind: "ok", reason: "" }, "ok-2");
    next.record({ kind: "health_changed", from: "unknown", to: "up", atMs: NOW_MS + 9_000 });
    // What fails after it is the evidence of something else.
    bench.poll(next, TIMEOUT, "later-1");
    await second.close();
    expect(evidence()).toEqual([["fail-1", "fail-2", "fail-5"]]);
    expect((await restoredOf(bench))?.evidence).toEqual([]);
  });

  test.each([
    ["known to be down by then", "down"],
    ["unknown by then", "unknown"],
  ] as const)(
    "what is evidence of an incident that ended unseen is none of the next one, nor the other way round: %s",
    async (_, state) => {
      await using bench = await StateBench.make();
      const store = await bench.open();
      const record = bench.recordOf(store);
      record.history.schedule = sampleSchedule(60_000);
      for (const id of ["fail-1", "fail-2", "fail-3"]) bench.poll(record, TIMEOUT, id);
      record.record({ kind: "health_changed", from: "up", to: "down", atMs: bench.clock.wallNow() });
      if (state === "unknown")
        record.record({ kind: "health_changed", from: "down", to: state, atMs: bench.clock.wallNow() });
      await bench.clock.advance(9 * 3_600_000);
      for (const id of ["later-1", "later-2"]) bench.poll(record, TIMEOUT, id);
      if (state === "unknown")
        record.record({ kind: "health_changed", from: state, to: "down", atMs: bench.clock.wallNow() });
      bench.poll(record, TIMEOUT, "later-3");
      await store.close();
      const rows = bench.query("SELECT json(evidence) AS kept FROM incidents ORDER BY started_at_ms");
      expect(
        rows.map(({ kept }) => JSON.parse(String(kept)).polls.map(({ id }: { id: string }) => id)),
      ).toEqual([
        ["fail-1", "fail-2", "fail-3"],
        ["later-1", "later-2", "later-3"],
      ]);
    },
  );

  test("an incident is open still where the wall clock was set back since the last ok poll", async () => {
    await using bench = await StateBench.make();
    const store = await bench.open();
    const record = bench.recordOf(store);
    bench.poll(record);
    bench.clock.stepWall(-HOUR_MS);
    bench.poll(record, TIMEOUT);
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: bench.clock.wallNow() });
    await store.close();
    expect((await restoredOf(bench))?.incidents).toMatchObject([{ state: "down", endedAtMs: undefined }]);
  });

  test("an older incident that nobody closed ended when it was last heard of", async () => {
    await using bench = await StateBench.make();
    const store = await bench.open();
    const removed = bench.recordOf(store);
    bench.poll(removed, TIMEOUT);
    removed.record({ kind: "health_changed", from: "up", to: "down", atMs: NOW_MS });
    await bench.clock.advance(5_000);
    bench.poll(removed, TIMEOUT);
    const added = bench.recordOf(store);
    added.record({ kind: "health_changed", from: "up", to: "throttled", atMs: NOW_MS + HOUR_MS });
    await store.close();
    expect((await restoredOf(bench))?.incidents).toMatchObject([
      { state: "throttled", endedAtMs: undefined },
      { state: "down", endedAtMs: NOW_MS + 5_000, isUnwatched: true },
    ]);
  });

  test("one that ended as the next began is there as it is on the page, and in a report: unwatched, or we were offline", async () => {
    await using bench = await StateBench.make();
    const store = await bench.open();
    const record = bench.recordOf(store, "email", (poll, judged) =>
      judged(poll.id === "offline" ? { ...poll, outcome: outcomeOf("offline") } : poll),
    );
    record.history.schedule = sampleSchedule(60_000);
    bench.poll(record, TIMEOUT);
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: bench.clock.wallNow() });
    await bench.clock.advance(9 * HOUR_MS);
    bench.poll(record, TIMEOUT);
    bench.poll(record);
    record.record({ kind: "health_changed", from: "down", to: "up", atMs: bench.clock.wallNow() });
    await bench.clock.advance(60_000);
    bench.poll(record, TIMEOUT, "offline");
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: bench.clock.wallNow() });
    await bench.clock.advance(60_000);
    bench.poll(record, TIMEOUT);
    await store.close();
    const ends = (incidents: readonly Incident[]): readonly unknown[] =>
      incidents.map(({ isUnwatched = false, reason }) => ({ isUnwatched, reason }));
    const shown = ends(record.history.incidents);
    expect(shown).toEqual([
      { isUnwatched: false, reason: "timeout" },
      { isUnwatched: false, reason: "offline" },
      { isUnwatched: false, reason: "timeout" },
      { isUnwatched: true, reason: "timeout" },
    ]);
    const firstDay = Math.floor(NOW_MS / DAY_MS);
    const period = periodOf({ firstDay, lastDay: firstDay + 1 }, "UTC", bench.clock.wallNow());
    const kept = keptIn(bench.path, [reportedOf(sampleUpstream({ name: "email" }))], period).get("email");
    expect(ends(kept?.incidents() ?? []).toReversed()).toEqual(shown);
    expect(ends((await restoredOf(bench))?.incidents ?? [])).toEqual(shown);
  });

  test("quota counts are there by hour, with those that may have been sent or not", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    const rows = [
      sampleQuotaRow({ hour: hourOf(NOW_MS) - 5, requests: 40 }),
      sampleQuotaRow({ hour: hourOf(NOW_MS), requests: 2, unconfirmed: 1 }),
    ];
    void first.write(quotaNotes({ rows, lostHours: [] }));
    await first.close();
    expect(quotasKept(await bench.open()).rows).toEqual(rows);
  });

  test("what ten answers claimed to have cost, more than can be read again, is there as the most that can", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    const row = sampleQuotaRow({ hour: hourOf(NOW_MS), requests: 10 * 1e15, unconfirmed: 0 });
    void first.write([sampleQuotaNote(row)]);
    await first.close();
    expect(quotasKept(await bench.open()).rows).toEqual([{ ...row, requests: Number.MAX_SAFE_INTEGER }]);
  });

  test("what holds a budget back is there as it was said last, and the pause of an upstream", async () => {
    await using bench = await StateBench.make();
    const lowered = { perMs: 60_000, requests: 5, untilMs: NOW_MS + 60_000 };
    const record = {
      pausedUntilMs: NOW_MS + 1_000,
      yieldUntilMs: NOW_MS + 2_000,
      refusals: 3,
      refusedUntilMs: NOW_MS + 3_000,
      lowered: [lowered],
      unadvertised: { ...lowered, requests: 2.5 },
      windows: [{ key: "ratelimit", limit: 5, perMs: 1000, from: "resets" as const }],
      upstreams: ["email"],
    };
    const first = await bench.open();
    void first.write([
      heldNote("api", NOTHING_HELD),
      heldNote("api", record),
      heldNote("ai", NOTHING_HELD),
      { kind: PAUSES.name, key: "email", json: NOW_MS + 9_000 },
    ]);
    await first.close();
    const kept = [await bench.open()];
    expect([...notesOf(HELD, kept)]).toEqual([
      ["ai", NOTHING_HELD],
      ["api", record],
    ]);
    expect([...notesOf(PAUSES, kept)]).toEqual([["email", NOW_MS + 9_000]]);
  });

  test("a wall clock that is far ahead at the start makes nothing too old", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    bench.poll(bench.recordOf(first));
    await first.close();
    bench.clock.stepWall(10_000 * HOUR_MS);
    const { minutes, hours } = (await restoredOf(bench)) ?? {};
    const buckets = [minutes, hours].map((packed) => new RollingCounts(HOUR_MS, 60, packed).bucketsFrom(0));
    expect(buckets).toMatchObject([[{ ok: 1 }], [{ ok: 1 }]]);
  });

  test("each upstream is handed over once: who comes back after it was removed begins anew", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    bench.poll(bench.recordOf(first));
    await first.close();
    const second = await bench.open();
    expect(second.restored("email")?.polls.added).toBe(1);
    expect(second.restored("email")).toBeUndefined();
    expect(second.restored("nobody")).toBeUndefined();
  });

  test("what nobody took is not kept by a store that is closed", async () => {
    await using bench = await StateBench.make();
    const first = await bench.open();
    bench.poll(bench.recordOf(first));
    await first.close();
    const second = await bench.open();
    await second.close();
    expect(second.restored("email")).toBeUndefined();
  });
});

test("rows are in the file half a second later, without an orderly end; notes as soon as they are written", async () => {
  await using bench = await StateBench.make();
  const store = await bench.open();
  expect(await store.write([sampleQuotaNote({ hour: hourOf(NOW_MS), requests: 7 })])).toBe(true);
  expect(bench.query("SELECT json FROM notes")).toEqual([{ json: `[[${hourOf(NOW_MS)},7,0]]` }]);
  bench.poll(bench.recordOf(store));
  await bench.written(1);
  expect(store.isUp).toBe(true);
  expect(bench.logged).toEqual([]);
});

test("a missing folder is made", async () => {
  await using bench = await StateBench.make();
  bench.path = join(bench.directory, "data", "deeper", "pacewatch.db");
  await (await bench.open()).close();
  expect(existsSync(bench.path)).toBe(true);
});

test("others may read the file while it is in use", async () => {
  await using bench = await StateBench.make();
  const store = await bench.open();
  bench.poll(bench.recordOf(store));
  await bench.written(1);
  expect(bench.query("SELECT upstream, polls, ok FROM hours")).toEqual([
    { upstream: "email", polls: 1, ok: 1 },
  ]);
});

describe("is refused, with one sentence", () => {
  test("a directory", async () => {
    await using bench = await StateBench.make();
    mkdirSync(bench.path);
    expect(await bench.refusal()).toBe(
      `cannot keep state: "${bench.path}" must be a file that can be read and written, received one that is a directory`,
    );
  });

  test("a folder that cannot be made", async () => {
    await using bench = await StateBench.make();
    writeFileSync(join(bench.directory, "file"), "");
    bench.path = join(bench.directory, "file", "pacewatch.db");
    expect(await bench.refusal()).toMatch(
      /^cannot keep state: ".*" must .* received one that is in a directory that cannot be made \(E(EXIST|NOTDIR): /,
    );
  });

  test("another program's database, which stays as it was", async () => {
    await using bench = await StateBench.make();
    const other = new DatabaseSync(bench.path);
    other.exec("CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ada')");
    other.close();
    const before = readFileSync(bench.path);
    expect(await bench.refusal()).toMatch(/received one that is the database of another program$/);
    expect(readFileSync(bench.path).equals(before)).toBe(true);
    expect(readdirSync(bench.directory)).toEqual(["pacewatch.db"]);
  });

  test("a file of a newer pacewatch", async () => {
    await using bench = await StateBench.make();
    await (await bench.open()).close();
    const newer = new DatabaseSync(bench.path);
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    expect(await bench.refusal()).toMatch(
      /received one that was written by a newer pacewatch \(version 99 of the file\)$/,
    );
  });

  test("and whoever is refused holds no lock: once the reason is gone, another one may begin", async () => {
    await using bench = await StateBench.make();
    const version = (number: number): void => {
      const database = new DatabaseSync(bench.path);
      database.exec(`PRAGMA user_version = ${number}`);
      database.close();
    };
    await (await bench.open()).close();
    version(99);
    const refused = new StateFile(bench.path);
    expect(refused.open(NOW_MS)).toMatchObject({ kind: "refused" });
    version(newestVersion());
    expect(await bench.refusal()).toBe("it opened");
  });
});

test("only its owner can read what it writes, whatever the umask", async () => {
  await using bench = await StateBench.make();
  bench.path = join(bench.directory, "new", "pacewatch.db");
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const store = await bench.open();
  bench.poll(bench.recordOf(store));
  await bench.written(1);
  const folder = join(bench.directory, "new");
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);
  expect(Object.fromEntries(modes)).toEqual({
    "pacewatch.db": 0o600,
    "pacewatch.db-journal": 0o600,
    "pacewatch.db.complete": 0o600,
  });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("nothing is logged in a life without trouble", async () => {
  await using bench = await StateBench.make();
  await (await bench.open()).close();
  await (await bench.open()).close();
  expect(stateErrors(bench)).toEqual([]);
  expect(bench.logged).toEqual([]);
});

test.each([
  ["removed", (path: string) => rmSync(path)],
  ["moved", (path: string) => renameSync(path, `${path}.backup`)],
])("a file that is %s under it is noticed, and a new one is begun", async (_, change) => {
  await using bench = await StateBench.make();
  const store = await bench.open();
  const record = bench.recordOf(store);
  store.readAfterTrouble(() => [sampleQuotaNote({ hour: hourOf(NOW_MS), requests: 40 })]);
  bench.poll(record);
  await bench.written(1);
  change(bench.path);
  bench.poll(record, TIMEOUT, "the next");
  await bench.until(() => !store.isUp);
  expect(stateErrors(bench)).toEqual([`the state file was moved, replaced or removed: ${IN_MEMORY}`]);
  await bench.until(() => store.isUp);
  expect(bench.query("SELECT poll FROM polls")).toEqual([{ poll: "the next" }]);
  expect(bench.query("SELECT json FROM notes")).toEqual([{ json: `[[${hourOf(NOW_MS)},40,0]]` }]);
});

test("no file but its own two are left behind by an orderly end", async () => {
  await using bench = await StateBench.make();
  const store = await bench.open();
  bench.poll(bench.recordOf(store));
  await store.close();
  expect(readdirSync(bench.directory)).toEqual(["pacewatch.db", "pacewatch.db.complete"]);
});
