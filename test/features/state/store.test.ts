import { expect, test } from "vitest";
import type { StateBatch, Trouble, WriteReply } from "../../../src/features/state/messages.ts";
import { SqliteStateStore } from "../../../src/features/state/store.ts";
import type { DiedWriting, StateThread } from "../../../src/features/state/thread.ts";
import { DAY_MS, HOUR_MS } from "../../../src/kernel/time/duration.ts";
import { heldNote, NOTHING_HELD } from "../../../src/features/hints/record.ts";
import { History } from "../../../src/features/history/history.ts";
import type { Recorder } from "../../../src/kernel/poll/ports.ts";
import { samplePoll, recordPoll } from "../../support/kernel-samples.ts";
import { sampleQuotaNote } from "../../support/samples.ts";
import { settle, VirtualClock } from "../../support/virtual/clock.ts";

const WRITTEN: WriteReply = { kind: "written", notes: [] };

function failed(says: string, isNoted = true): WriteReply {
  return { kind: "failed", trouble: { says, isNoted }, notes: [] };
}

/** Answers what and when it is told to. */
class FakeThread implements StateThread {
  readonly batches: StateBatch[] = [];
  isClosed = false;
  isAbandoned = false;
  reply: (() => Promise<WriteReply | DiedWriting>) | undefined;

  open(): Promise<DiedWriting> {
    return Promise.resolve({ kind: "died", error: undefined, isNoted: true });
  }

  write(batch: StateBatch): Promise<WriteReply | DiedWriting> {
    this.batches.push(batch);
    return this.reply?.() ?? Promise.resolve(WRITTEN);
  }

  /** The disk does not answer. */
  columns(): Promise<undefined> {
    return new Promise(() => {});
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  abandon(): void {
    this.isAbandoned = true;
  }

  get polls(): readonly string[] {
    return this.batches.flatMap((batch) => batch.polls.map((poll) => poll.status.id));
  }

  /** Of each batch. */
  get quotas(): readonly (readonly unknown[])[] {
    return this.batches.map(({ rows }) =>
      rows
        .filter(({ table }) => table === "notes")
        .map(({ columns }) => /^\[\[\d+,(\d+)/.exec(String(columns["json"]))?.[1])
        .map(Number),
    );
  }
}

class Scene {
  readonly clock = new VirtualClock();
  readonly thread = new FakeThread();
  readonly logged: string[] = [];
  readonly store: SqliteStateStore;
  readonly recorder: Recorder;

  constructor(trouble?: Trouble) {
    const say = (fields: object, msg: string) => void this.logged.push(`${msg} ${JSON.stringify(fields)}`);
    const log = { debug: say, info: say, warn: say, error: say };
    const restored = { upstreams: new Map(), notes: [], writtenAtMs: undefined };
    const parts = { path: "state.db", thread: this.thread, clock: this.clock, log };
    this.store = new SqliteStateStore(parts, {
      kind: "opened",
      restored,
      isLoss: false,
      lostAtMs: undefined,
      trouble,
      notes: [],
    });
    this.recorder = this.store.recorderOf("email", new History("email", 0));
  }

  poll(id: string): void {
    recordPoll(this.recorder, samplePoll({ id }));
  }
}

test("a batch goes out each half second at most, and none where nothing happened", async () => {
  const scene = new Scene();
  scene.poll("a");
  scene.poll("b");
  await scene.clock.advance(499);
  expect(scene.thread.batches).toHaveLength(0);
  await scene.clock.advance(1);
  expect(scene.thread.polls).toEqual(["a", "b"]);
  await scene.clock.advance(60_000);
  expect(scene.thread.batches).toHaveLength(1);
  await scene.store.close();
});

test("a thread that is stuck holds up nobody: it is told once, rows wait, and all goes on when it answers", async () => {
  const scene = new Scene();
  const { promise, resolve } = Promise.withResolvers<WriteReply>();
  scene.thread.reply = () => promise;
  scene.poll("a");
  await scene.clock.advance(4_000);
  expect(scene.store.isUp).toBe(true);
  await scene.clock.advance(1_000);
  expect(scene.store.isUp).toBe(false);
  scene.poll("b");
  await scene.clock.advance(60_000);
  expect(scene.thread.batches).toHaveLength(1);
  expect(scene.logged).toHaveLength(1);
  expect(scene.logged[0]).toMatch(/^the state file does not answer: history and quotas are kept in memory/);

  scene.thread.reply = undefined;
  resolve(WRITTEN);
  await settle();
  expect(scene.store.isUp).toBe(true);
  await scene.clock.advance(5_000);
  expect(scene.thread.polls).toEqual(["a", "b"]);
  await scene.store.close();
});

test("a failed batch is tried again every five seconds, whole and in order", async () => {
  const scene = new Scene();
  scene.thread.reply = () => Promise.resolve(failed("is on a disk that is full"));
  scene.poll("a");
  await scene.clock.advance(500);
  scene.poll("b");
  await scene.clock.advance(4_500);
  expect(scene.thread.polls).toEqual(["a"]);
  expect(scene.store.isUp).toBe(false);
  scene.thread.reply = undefined;
  await scene.clock.advance(500);
  expect(scene.thread.polls).toEqual(["a", "a", "b"]);
  expect(scene.store.isUp).toBe(true);
  expect(scene.logged.map((line) => line.split(":")[0])).toEqual([
    "the state file is on a disk that is full",
    'the state file can be written again {"path"',
  ]);
  await scene.store.close();
});

test("a store that began in trouble asks by itself whether it is over", async () => {
  const scene = new Scene({ says: "is on a disk that is full", isNoted: true });
  expect(scene.store.isUp).toBe(false);
  await scene.clock.advance(4_500);
  expect(scene.thread.batches).toHaveLength(0);
  await scene.clock.advance(500);
  expect(scene.thread.batches).toHaveLength(1);
  expect(scene.store.isUp).toBe(true);
  await scene.store.close();
});

test("a thread that died with a batch does not get it twice; what it lost is told", async () => {
  const scene = new Scene();
  scene.thread.reply = () =>
    Promise.resolve({ kind: "died", error: new Error("out of memory"), isNoted: true });
  scene.poll("a");
  await scene.clock.advance(500);
  expect(scene.store.isUp).toBe(false);
  scene.thread.reply = undefined;
  scene.poll("b");
  await scene.clock.advance(5_000);
  expect(scene.thread.polls).toEqual(["a", "b"]);
  expect(scene.logged.at(-1)).toBe('the state file can be written again {"path":"state.db","lost":1}');
  await scene.store.close();
});

test("many rows are handed over in bites, one after the other, without waiting in between", async () => {
  const scene = new Scene();
  for (let turn = 0; turn < 1_700; turn += 1) scene.poll(`${turn}`);
  await scene.clock.advance(500);
  expect(scene.thread.batches.map((batch) => batch.polls.length)).toEqual([500, 500, 500]);
  await scene.clock.advance(500);
  expect(scene.thread.batches.at(-1)?.polls).toHaveLength(200);
  await scene.store.close();
});

test("whoever waits for what is counted has it in the file at once; of those that wait together, one batch is enough", async () => {
  const scene = new Scene();
  const { promise, resolve } = Promise.withResolvers<WriteReply>();
  scene.thread.reply = () => promise;
  let isWritten = false;
  const count = (requests: number): Promise<unknown> => scene.store.write([sampleQuotaNote({ requests })]);
  const first = [4, 5].map((requests) => count(requests).then(() => (isWritten = true)));
  await settle();
  const second = [6, 7].map(count);
  await settle();
  expect(isWritten).toBe(false);
  scene.thread.reply = undefined;
  resolve(WRITTEN);
  await Promise.all([...first, ...second]);
  expect(scene.thread.quotas).toEqual([[5], [7]]);
  await scene.store.close();
});

test("nobody waits longer than four seconds for a store that is stuck, and all are told that it does not have it", async () => {
  const scene = new Scene();
  const { promise, resolve } = Promise.withResolvers<WriteReply>();
  scene.thread.reply = () => promise;
  const all = [sampleQuotaNote({ hour: 24, requests: 40 }), sampleQuotaNote({ requests: 7 })];
  scene.store.readAfterTrouble(() => all);
  const answers: boolean[] = [];
  const waiting = [5, 6].map((requests) =>
    scene.store.write([sampleQuotaNote({ requests })]).then((isKept) => answers.push(isKept)),
  );
  await scene.clock.advance(3_999);
  expect(answers).toEqual([]);
  await scene.clock.advance(501);
  await Promise.all(waiting);
  expect([answers, scene.store.isUp]).toEqual([[false, false], false]);
  expect(await scene.store.write([])).toBe(false);
  expect(scene.thread.batches).toHaveLength(1);
  // What nobody waited for meanwhile is written as soon as it is up again, not half a second later: all of it.
  scene.thread.reply = undefined;
  resolve(WRITTEN);
  await settle();
  expect(scene.store.isUp).toBe(true);
  expect(scene.thread.quotas).toEqual([[6], [40, 7]]);
  await scene.store.close();
});

test("while it is down, what comes may go on where the next start will know that it is missing, and nowhere else", async () => {
  for (const isNoted of [true, false]) {
    for (const reply of [
      failed("is read-only", isNoted),
      { kind: "died", error: undefined, isNoted } as const,
    ]) {
      const scene = new Scene();
      scene.thread.reply = () => Promise.resolve(reply);
      const note = sampleQuotaNote();
      expect(await scene.store.write([note])).toBe(isNoted);
      expect([scene.store.isUp, await scene.store.write([note])]).toEqual([false, isNoted]);
      scene.thread.reply = undefined;
      await scene.clock.advance(5_000);
      expect([scene.store.isUp, await scene.store.write([note])]).toEqual([true, true]);
      await scene.store.close();
    }
    const opened = new Scene({ says: "is read-only", isNoted });
    expect(await opened.store.write([sampleQuotaNote()])).toBe(isNoted);
    await opened.store.close();
  }
});

test("after trouble all that the file must hold is written, as it is now", async () => {
  const scene = new Scene();
  const api = { ...NOTHING_HELD, refusals: 1 };
  const later = [heldNote("api", { ...NOTHING_HELD, refusals: 2 }), { kind: "pause", key: "email", json: 9 }];
  scene.store.readAfterTrouble(() => later);
  void scene.store.write([heldNote("api", api)]);
  await scene.clock.advance(2_000);
  const written = (): readonly unknown[] =>
    scene.thread.batches.flatMap(({ rows }) =>
      rows.map(({ columns: { kind, key, json } }) => ({ kind, key, json: JSON.parse(String(json)) })),
    );
  const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  expect(written()).toEqual([asJson(heldNote("api", api))]);
  scene.thread.reply = () => Promise.resolve(failed("is read-only"));
  scene.poll("a");
  await scene.clock.advance(500);
  scene.thread.reply = undefined;
  await scene.clock.advance(5_000);
  expect(written().slice(1)).toEqual(asJson(later));
  await scene.store.close();
});

test("at the end everything that waits is written, and what is counted", async () => {
  const scene = new Scene();
  void scene.store.write([sampleQuotaNote()]);
  for (let turn = 0; turn < 1_200; turn += 1) scene.poll(`${turn}`);
  await scene.store.close();
  expect(scene.thread.polls).toHaveLength(1_200);
  expect(scene.thread.quotas.flat()).toEqual([5]);
  expect(scene.thread.isClosed).toBe(true);
  expect(scene.logged).toEqual([]);
});

test("the end waits a few seconds for a thread that is stuck, and not longer", async () => {
  const scene = new Scene();
  scene.thread.reply = () => new Promise(() => {});
  scene.poll("a");
  await scene.clock.advance(500);
  let isClosed = false;
  const closing = scene.store.close().then(() => (isClosed = true));
  await scene.clock.advance(4_999);
  expect(isClosed).toBe(false);
  await scene.clock.advance(1);
  await closing;
  expect(scene.thread.isAbandoned).toBe(true);
  expect(scene.logged).toHaveLength(1);
});

test("a page does not wait for a disk that does not answer", async () => {
  const { clock, store } = new Scene();
  let told: unknown = "nothing yet";
  void store
    .columns({ upstream: "email", fromMs: 0, toMs: 1, columnMs: 60_000 })
    .then((columns) => (told = columns));
  await clock.advance(1_999);
  expect(told).toBe("nothing yet");
  await clock.advance(1);
  expect(told).toBeUndefined();
});

test("what is too old is told by what was written since: a clock that steps is believed after a day", async () => {
  const scene = new Scene();
  const nowMs = (): number => scene.thread.batches.at(-1)?.nowMs ?? 0;
  const pass = async (hours: number): Promise<void> => {
    for (let minute = 0; minute < hours * 60; minute += 30) {
      await scene.clock.advance(1_800_000);
      scene.poll("each");
      await scene.clock.advance(500);
    }
  };
  const startMs = scene.clock.wallNow();
  await pass(1);
  scene.clock.stepWall(400 * DAY_MS);
  await pass(1);
  expect(nowMs()).toBeLessThan(startMs + 3 * HOUR_MS);
  scene.clock.stepWall(-400 * DAY_MS);
  await pass(1);
  scene.clock.stepWall(400 * DAY_MS);
  await pass(25);
  expect(nowMs()).toBeGreaterThan(startMs + 400 * DAY_MS);
  await scene.store.close();
});

test("what comes while a batch is written is in the file too where that is the last one before the end", async () => {
  const scene = new Scene();
  const { promise, resolve } = Promise.withResolvers<WriteReply>();
  scene.thread.reply = () => promise;
  void scene.store.write([sampleQuotaNote({ requests: 5, unconfirmed: 1 })]);
  await settle();
  void scene.store.write([sampleQuotaNote({ requests: 5, unconfirmed: 0 })]);
  const closed = scene.store.close();
  scene.thread.reply = undefined;
  resolve(WRITTEN);
  await closed;
  const written = scene.thread.batches.map(({ rows }) => rows.map(({ columns }) => columns["json"]));
  expect(written).toEqual([["[[1,5,1]]"], ["[[1,5,0]]"]]);
});
