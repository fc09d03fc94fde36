import { FOLLOWERS } from "../../../src/app/features/shown.ts";
import { opened } from "../../support/opened.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StateFile } from "../../../src/features/state/file.ts";
import type { OpenReply, StateBatch, WriteReply } from "../../../src/features/state/messages.ts";
import { openStateStore } from "../../../src/features/state/store.ts";
import { SqliteThread, type StateThread } from "../../../src/features/state/thread.ts";
import { History, recorderOf } from "../../../src/features/history/history.ts";
import { type Judge, UpstreamRecord } from "../../../src/features/history/upstream-record.ts";
import type { Log } from "../../../src/kernel/text/log.ts";
import type { PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import type { RestoredUpstream, SavedPoll, StateStore } from "../../../src/features/history/state.ts";
import { DAY_MS, HOUR_MS } from "../../../src/kernel/time/duration.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { pollStatusOf } from "../../../src/features/history/kept-poll.ts";

export const NOW_MS = 1_790_000_000_000;
export const TIMEOUT: PollOutcome = { kind: "failed", reason: "timeout" };

/** The database in the thread of the test: what is written is in the file at once, and no thread has to start. */
class SameThread implements StateThread {
  readonly #file: StateFile;

  constructor(path: string) {
    this.#file = new StateFile(path);
  }

  open(nowMs: number): Promise<OpenReply> {
    return Promise.resolve(this.#file.open(nowMs));
  }

  write(batch: StateBatch): Promise<WriteReply> {
    return Promise.resolve(this.#file.write(batch));
  }

  columns(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  close(): Promise<void> {
    return Promise.resolve(this.#file.close());
  }

  abandon(): void {
    this.#file.close();
  }
}

/** A folder of its own, virtual time over a real disk, and everything that was logged. */
export class StateBench implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock({ wallMs: NOW_MS });
  readonly logged: { readonly level: string; readonly msg: string }[] = [];
  readonly directory: string;
  path: string;
  /** A thread of its own, as the daemon has it. */
  readonly #hasThread: boolean;
  readonly #stores: StateStore[] = [];

  private constructor(directory: string, hasThread: boolean) {
    this.directory = directory;
    this.#hasThread = hasThread;
    this.path = join(directory, "pacewatch.db");
  }

  static async make({ hasThread = false }: { readonly hasThread?: boolean } = {}): Promise<StateBench> {
    return new StateBench(await mkdtemp(join(tmpdir(), "pacewatch-state-")), hasThread);
  }

  get log(): Log {
    const at = (level: string) => (_: object, msg: string) => void this.logged.push({ level, msg });
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  get thread(): StateThread {
    return this.#hasThread ? new SqliteThread(this.path) : new SameThread(this.path);
  }

  async open(): Promise<StateStore> {
    const store = opened(await openStateStore(this));
    this.#stores.push(store);
    return store;
  }

  async refusal(): Promise<string> {
    const opening = await openStateStore(this);
    if (opening.kind === "refused") return opening.faults.join("; ");
    this.#stores.push(opening.what);
    return "it opened";
  }

  /** As the app does it. */
  recordOf(store: StateStore, upstream = "email", judge?: Judge): UpstreamRecord {
    const history = new History(upstream, this.clock.wallNow(), store.restored(upstream));
    return new UpstreamRecord(
      history,
      [recorderOf(history, FOLLOWERS), store.recorderOf(upstream, history)],
      judge,
    );
  }

  poll(record: UpstreamRecord, outcome: PollOutcome = { kind: "ok", reason: "" }, id = "poll-1"): void {
    const atMs = this.clock.wallNow();
    record.record({
      kind: "polled",
      poll: samplePoll({ id, outcome, sentAtMs: atMs - 200, endedAtMs: atMs }),
    });
  }

  /** Lets time pass, and the real thread do its work, until something is so. */
  async until(isSo: () => boolean, stepMs = 500): Promise<void> {
    for (let turn = 0; turn < 2_000; turn += 1) {
      await this.clock.advance(stepMs);
      if (isSo()) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`it did not become so: ${JSON.stringify(this.logged)}`);
  }

  /** Until `count` polls are in the file. */
  async written(count: number): Promise<void> {
    await this.until(() => this.count("polls") === count);
  }

  count(table: string): number {
    return Number(this.query(`SELECT count(*) AS n FROM ${table}`)[0]?.["n"]);
  }

  query(sql: string): readonly Record<string, unknown>[] {
    // Whoever has it open has it locked for himself.
    const url = pathToFileURL(this.path);
    url.searchParams.set("immutable", "1");
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }

  /** Only while nobody has it open. */
  change(sql: string): void {
    using database = new DatabaseSync(this.path);
    database.exec(sql);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** What a next life would be given, without living it. */
export async function restoredOf(
  bench: StateBench,
  upstream = "email",
): Promise<RestoredUpstream | undefined> {
  const store = await bench.open();
  const restored = store.restored(upstream);
  await store.close();
  return restored;
}

export function stateErrors(bench: StateBench): readonly string[] {
  return bench.logged.filter(({ level }) => level === "error").map(({ msg }) => msg);
}

export function savedAt(
  atMs: number,
  outcome: PollOutcome = { kind: "ok", reason: "" },
  upstream = "email",
): SavedPoll {
  const status = pollStatusOf(
    samplePoll({ id: `${upstream} ${atMs}`, outcome, sentAtMs: atMs, endedAtMs: atMs }),
  );
  return { upstream, endedAtMs: atMs, withinObjective: true, watchedMs: 0, status };
}

export function batchAt(nowMs: number, changes: Partial<StateBatch> = {}): StateBatch {
  return { polls: [], rows: [], nowMs, ...changes };
}

/** Days of recording in a moment, in few batches: each of them goes to the disk, as its minute is over. */
export function recordDays(file: StateFile, fromMs: number, days: number, everyMs: number): number {
  const untilMs = fromMs + days * DAY_MS;
  for (let atMs = fromMs; atMs < untilMs; atMs += 6 * HOUR_MS) {
    const polls: SavedPoll[] = [];
    for (let each = atMs; each < atMs + 6 * HOUR_MS; each += everyMs) polls.push(savedAt(each));
    const reply = file.write(batchAt(atMs + 6 * HOUR_MS, { polls }));
    if (reply.kind !== "written") throw new Error(reply.trouble.says);
  }
  return untilMs;
}
