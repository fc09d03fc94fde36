import { stackOf } from "../../kernel/text/escape.ts";
import type { Log } from "../../kernel/text/log.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { Recorder } from "../../kernel/poll/ports.ts";
import { LATE, within } from "../../platform/within.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import { SteadyCalendar } from "../../platform/steady-calendar.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import type { Note } from "../../kernel/text/notes.ts";
import type { ColumnsQuestion, RestoredUpstream, SavedHistory, StateStore, Tally } from "../history/state.ts";
import type { Opened } from "../../platform/opened.ts";
import type { Columns } from "../history/timeline.ts";
import { StateBuffer } from "./buffer.ts";
import type { OpenReply, StateBatch, Trouble } from "./messages.ts";
import { stateRecorder } from "./recorder.ts";
import { noteRow } from "./tables.ts";
import type { Died } from "../../platform/thread.ts";
import { SqliteThread, type StateThread } from "./thread.ts";

/** A killed process loses this much; half of what is promised. */
const FLUSH_EVERY_MS = 500;
const RETRY_EVERY_MS = 5_000;
const STUCK_AFTER_MS = 4_000;
const CLOSE_AT_MOST_MS = 5_000;
const COLUMNS_AT_MOST_MS = 2_000;
/** Copying a batch to the thread costs some microseconds a poll. */
const MOST_POLLS_A_BATCH = 500;
/** Other notes are promises, of which there are as many as budgets, upstreams, days of a quota: none is ever dropped. */
const BOUNDS = { polls: 10_000, incidents: 1_000, value_hours: 10_000, leastNotes: 20_000 };

export type StoreParts = {
  readonly path: string;
  readonly thread: StateThread;
  readonly clock: Clock;
  readonly log: Log;
};

/** The side of the main thread: buffers what is recorded, sends it in batches, never blocks. */
export class SqliteStateStore implements StateStore {
  readonly #parts: StoreParts;
  readonly #restored: Map<string, RestoredUpstream>;
  readonly notes: readonly Note[];
  readonly isLoss: boolean;
  lostAtMs: number | undefined;
  readonly #buffer = new StateBuffer(BOUNDS);
  /** Undefined until there is somebody who knows them. */
  #readNotes: (() => readonly Note[]) | undefined;
  /** What is forgotten goes by what was written since, until a wall clock that says otherwise has stood for a day. */
  readonly #calendar: SteadyCalendar;
  #isUp = true;
  /** Trouble may leave us with a new file: then all notes are written again. */
  #keepsAll: boolean;
  /** Whether the next start will know that the file lacks what comes while it is down. */
  #isLackNoted = false;
  /** Those who wait until what is counted now is in the file. */
  readonly #waiting: ((isKept: boolean) => void)[] = [];
  #isClosing = false;
  #rest = new AbortController();
  readonly #ended: Promise<void>;

  constructor(
    parts: StoreParts,
    { restored, isLoss, lostAtMs, trouble, notes }: Extract<OpenReply, { kind: "opened" }>,
  ) {
    this.#parts = parts;
    this.#restored = new Map(restored.upstreams);
    this.notes = restored.notes;
    this.isLoss = isLoss;
    this.#keepsAll = isLoss;
    this.lostAtMs = lostAtMs;
    const { clock } = parts;
    const startMs = Math.min(clock.wallNow(), restored.writtenAtMs ?? Infinity);
    this.#calendar = new SteadyCalendar(clock, DAY_MS, startMs);
    this.#tell(notes);
    if (trouble !== undefined) this.#goDown(trouble);
    this.#ended = this.#run();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get inAnIncident(): readonly string[] {
    return [...this.#restored]
      .filter(([, { incidents }]) => incidents[0] !== undefined && incidents[0].endedAtMs === undefined)
      .map(([upstream]) => upstream);
  }

  restored(upstream: string): RestoredUpstream | undefined {
    const restored = this.#restored.get(upstream);
    this.#restored.delete(upstream);
    return restored;
  }

  /** A page waits for it, and other pages behind that one. */
  async columns(question: ColumnsQuestion): Promise<Columns | undefined> {
    const { clock, thread } = this.#parts;
    if (!this.#isUp) return undefined;
    const columns = await within(COLUMNS_AT_MOST_MS, thread.columns(question), clock);
    return columns === LATE ? undefined : columns;
  }

  recorderOf(upstream: string, history: SavedHistory, tallyOf?: (poll: Poll) => Tally | undefined): Recorder {
    return stateRecorder(upstream, history, this.#buffer, this.#parts.clock, tallyOf);
  }

  write(notes: readonly Note[]): Promise<boolean> {
    for (const note of notes) this.#buffer.put(noteRow(note));
    return this.#written();
  }

  readAfterTrouble(read: () => readonly Note[]): void {
    this.#readNotes = read;
  }

  /** While it is down, nobody waits: whoever must not go on without it asks again. */
  #written(): Promise<boolean> {
    if (!this.#isUp || this.#isClosing) return Promise.resolve(!this.#isClosing && this.#isLackNoted);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.push(resolve);
    this.#rest.abort();
    return promise;
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    // In a fleet it may have been opened only to see that it can be.
    this.#restored.clear();
    this.#rest.abort();
    const { clock, thread } = this.#parts;
    if ((await within(CLOSE_AT_MOST_MS, this.#ended, clock)) !== LATE) return;
    this.#goDown({ says: "did not answer", isNoted: false });
    thread.abandon();
  }

  async #run(): Promise<void> {
    const { clock, log, thread } = this.#parts;
    while (!this.#isClosing) {
      this.#rest = new AbortController();
      if (this.#waiting.length === 0)
        await clock.sleep(this.#isUp ? FLUSH_EVERY_MS : RETRY_EVERY_MS, this.#rest.signal);
      await this.#writeAll();
    }
    const lost = this.#buffer.takeLost() + this.#buffer.waitingPolls;
    if (lost > 0) log.warn({ lost }, "polls could not be written to the state file, and are lost");
    await thread.close();
  }

  /** Until less than a full batch is left (nothing, at the end), or a batch fails. */
  async #writeAll(): Promise<void> {
    let isWritten = true;
    do {
      const waiting = this.#waiting.length;
      const batch = this.#nextBatch();
      isWritten = batch === undefined || (await this.#write(batch));
      if (isWritten) this.#release(waiting, true);
      if (isWritten) this.#goUp();
    } while (
      isWritten &&
      (this.#isClosing ? !this.#buffer.isEmpty : this.#buffer.waitingPolls >= MOST_POLLS_A_BATCH)
    );
  }

  #nextBatch(): StateBatch | undefined {
    if (this.#keepsAll && this.#readNotes !== undefined) {
      for (const note of this.#readNotes()) this.#buffer.put(noteRow(note));
      this.#keepsAll = false;
    }
    // While it is down, an empty batch tests whether it still is.
    if (this.#buffer.isEmpty && this.#isUp) return undefined;
    return { ...this.#buffer.take(MOST_POLLS_A_BATCH), nowMs: this.#calendar.now() };
  }

  async #write(batch: StateBatch): Promise<boolean> {
    const { clock, thread } = this.#parts;
    const answer = thread.write(batch);
    if ((await within(STUCK_AFTER_MS, answer, clock)) === LATE)
      this.#goDown({ says: "does not answer", isNoted: false });
    const reply = await answer;
    // While it runs, a damaged file is all that it has a note about.
    if (reply.kind !== "died" && reply.notes.length > 0) this.lostAtMs = clock.wallNow();
    switch (reply.kind) {
      case "written":
        this.#tell(reply.notes);
        return true;
      case "failed":
        this.#tell(reply.notes);
        this.#buffer.giveBack(batch);
        this.#goDown(reply.trouble);
        return false;
      case "died":
        this.#buffer.giveUp(batch);
        this.#goDown({ says: `cannot be kept: ${whyDied(reply)}`, isNoted: reply.isNoted });
        return false;
      default:
        return reply satisfies never;
    }
  }

  #goDown({ says: trouble, isNoted }: Trouble): void {
    const { log, path } = this.#parts;
    this.#keepsAll = true;
    const wasUp = this.#isUp;
    this.#isUp = false;
    this.#isLackNoted = isNoted;
    this.#release(this.#waiting.length, isNoted);
    if (!wasUp) return;
    log.error(
      { path, trouble },
      `the state file ${trouble}: history and quotas are kept in memory until it can be written`,
    );
  }

  #goUp(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    // Nobody waited for requests that were granted during this batch: they are not in the file yet.
    void this.#written();
    const { log, path } = this.#parts;
    log.info({ path, lost: this.#buffer.takeLost() }, "the state file can be written again");
  }

  /** The first of those who wait: whoever came later waits for what was not in the batch. */
  #release(count: number, isKept: boolean): void {
    for (const resolve of this.#waiting.splice(0, count)) resolve(isKept);
  }

  #tell(notes: readonly string[]): void {
    const { log, path } = this.#parts;
    for (const note of notes) log.error({ path }, note);
  }
}

export type StateStoreOptions = Omit<StoreParts, "thread"> & Partial<Pick<StoreParts, "thread">>;

/** Enough to read some gigabytes. */
const OPEN_AT_MOST_MS = 60_000;

/** Opens or creates the state file, and reads what earlier processes left in it. */
export async function openStateStore({
  path,
  log,
  clock,
  thread = new SqliteThread(path),
}: StateStoreOptions): Promise<Opened<StateStore>> {
  const reply = await within(OPEN_AT_MOST_MS, thread.open(clock.wallNow()), clock);
  if (reply !== LATE && reply.kind === "opened")
    return { kind: "opened", what: new SqliteStateStore({ path, thread, clock, log }, reply) };
  if (reply !== LATE && reply.kind === "refused") {
    await thread.close();
    return reply;
  }
  thread.abandon();
  const why = reply === LATE ? `no answer from its disk within ${OPEN_AT_MOST_MS / 1000} s` : whyDied(reply);
  return {
    kind: "refused",
    faults: [`cannot keep state: "${path}" must be a state file, received: ${why}`],
  };
}

function whyDied({ error }: Died): string {
  return error === undefined ? "its thread ended" : stackOf(error);
}
