import { Thread } from "../platform/thread.ts";
import type { Upstream } from "../kernel/config/config.ts";
import type { LargeBody, Observation, Unjudged } from "../kernel/exchange/exchange.ts";
import { codeOf } from "../kernel/text/escape.ts";
import type { Clock } from "../kernel/time/clock.ts";
import type { Poll } from "../kernel/poll/poll.ts";
import { judge, type PollTimes } from "../kernel/polling/poll-once.ts";
import { judgingOf } from "./features/judging.ts";

export type LargeAnswer = {
  readonly upstream: Upstream;
  readonly observation: Omit<Observation, "withoutKeys" | "large">;
  readonly large: Omit<LargeBody, "release">;
  readonly times: PollTimes;
  /** The thread notes here how many milliseconds of CPU time it had taken when it began to judge. */
  readonly begun: Int32Array<SharedArrayBuffer>;
};

/** Where large answers come regularly, their thread is not started for each. */
const IDLE_MS = 30_000;

const LOOK_EVERY_MS = 500;
const NOT_BEGUN = -1;

/** A thread that gets so little CPU that one answer is not judged after so many looks is started again. */
const MOST_LOOKS = 60;

/**
 * The thread is ended where one answer takes more: libraries match expressions and JSON Schemas, and none counts its
 * steps. CPU time, as a machine that stands still is not the answer's fault.
 */
const LIMITS = {
  cpuMs: 3_000,
  /** The most JSON that is parsed, and what it is judged by, fit into that heap. */
  heapMib: 192,
  /** Each that waits has 64 KiB, or a part of the memory for bodies. */
  waiting: 500,
};
type Limits = Readonly<typeof LIMITS>;

type Why = { readonly fault: Unjudged; readonly detail: string };

const TOO_LONG: Why = { fault: "assertion", detail: "its answer could not be checked in time" };
const STOOD_STILL: Why = { fault: "suspended", detail: "the thread that judges answers stood still" };
const TOO_MANY: Why = { fault: "memory", detail: "too many answers were waiting to be judged" };
const TOO_LARGE: Why = {
  fault: "memory",
  detail: "judging its answer takes more memory than there is for it",
};

/**
 * A thread decodes and judges large bodies, and answers that libraries must check, one after the other: that takes a
 * tenth of a second for a megabyte of JSON and may never end for an expression, and polls of others would wait for it. It
 * is there only while it is needed. Where one answer takes too much of it, it is ended, and another judges the next one.
 */
export class LargeAnswers implements AsyncDisposable {
  readonly #clock: Pick<Clock, "sleep">;
  readonly #limits: Limits;
  readonly #thread: Thread;
  readonly #begun = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #idle = new AbortController();

  constructor(clock: Pick<Clock, "sleep">, limits: Partial<Limits> = {}) {
    this.#clock = clock;
    this.#limits = { ...LIMITS, ...limits };
    this.#thread = new Thread({
      name: "judging",
      module: new URL("./judge-worker.ts", import.meta.url),
      canWait: true,
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMib },
    });
  }

  readonly judge = (upstream: Upstream, observation: Observation, times: PollTimes): Promise<Poll> => {
    if (this.#waiting >= this.#limits.waiting) {
      observation.large?.release();
      return Promise.resolve(unjudged(upstream, observation, times, TOO_MANY));
    }
    this.#waiting += 1;
    const judged = this.#turn.then(() => this.#judge(upstream, observation, times));
    this.#turn = judged.catch(() => {}).then(() => void (this.#waiting -= 1));
    return judged;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#idle.abort();
    await this.#thread.end();
  }

  async #judge(upstream: Upstream, observation: Observation, times: PollTimes): Promise<Poll> {
    const { large, withoutKeys: _here, ...sent } = observation;
    if (large === undefined) return judge(upstream, observation, times, judgingOf(upstream));
    const { release, ...needed } = large;
    this.#idle.abort();
    const judged = new AbortController();
    try {
      Atomics.store(this.#begun, 0, NOT_BEGUN);
      // What it sends is of no use there, and may be large.
      const asked = { ...upstream, body: undefined };
      const begun = this.#begun;
      const question: LargeAnswer = { upstream: asked, observation: sent, large: needed, times, begun };
      const asking = this.#thread.ask<Poll>(question);
      const watching = this.#watch(judged.signal);
      const answer = await asking;
      judged.abort();
      if ("outcome" in answer) return answer;
      const isTooLarge = codeOf(answer.error) === "ERR_WORKER_OUT_OF_MEMORY";
      const why = isTooLarge ? TOO_LARGE : await watching;
      if (why !== undefined) return unjudged(upstream, observation, times, why);
      throw answer.error ?? new Error("the thread that judges answers has ended");
    } finally {
      judged.abort();
      release();
      this.#idle = new AbortController();
      void this.#endWhenIdle(this.#idle.signal);
    }
  }

  /** Ends the thread where one answer takes too much of it, and says why; undefined where it was judged before. */
  async #watch(isJudged: AbortSignal): Promise<Why | undefined> {
    let cpuMs: number | undefined;
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      await this.#clock.sleep(LOOK_EVERY_MS, isJudged);
      if (isJudged.aborted) return undefined;
      const begunMs = Atomics.load(this.#begun, 0);
      if (begunMs !== NOT_BEGUN && cpuMs !== undefined && cpuMs - begunMs > this.#limits.cpuMs) {
        void this.#thread.end();
        return TOO_LONG;
      }
      // It is not waited for: a thread that stands still does not tell.
      void this.#thread.cpuMs().then((ms) => void (cpuMs = ms));
    }
    void this.#thread.end();
    return STOOD_STILL;
  }

  async #endWhenIdle(isUsed: AbortSignal): Promise<void> {
    await this.#clock.sleep(IDLE_MS, isUsed);
    if (!isUsed.aborted) await this.#thread.end();
  }
}

/** What its head asks for holds all the same. */
function unjudged(upstream: Upstream, observation: Observation, times: PollTimes, why: Why): Poll {
  const { head } = observation.exchange;
  const exchange = { kind: "broken", ...why, sent: true, head } as const;
  return judge(upstream, { ...observation, exchange }, times, judgingOf(upstream));
}
