import { Thread } from "../adapters/thread.ts";
import type { Upstream } from "../core/config/config.ts";
import type { LargeBody, Observation } from "../core/exchange/exchange.ts";
import type { Clock } from "../core/time/clock.ts";
import { judge, type PollResult, type PollTimes } from "../engine/poll/poll-once.ts";

export type LargeAnswer = {
  readonly upstream: Upstream;
  readonly observation: Omit<Observation, "withoutKeys" | "large">;
  readonly large: Omit<LargeBody, "release">;
  readonly times: PollTimes;
};

/** Where large answers come regularly, their thread is not started for each. */
const IDLE_MS = 30_000;

/**
 * A thread decodes and judges large bodies, one after the other: a megabyte of JSON takes a tenth of a second, and polls
 * of others would wait for it. It is there only while it is needed.
 */
export class LargeAnswers implements AsyncDisposable {
  readonly #clock: Pick<Clock, "sleep">;
  readonly #thread = new Thread({
    name: "judging",
    module: new URL("./judge-worker.ts", import.meta.url),
    canWait: true,
  });
  #turn: Promise<unknown> = Promise.resolve();
  #idle = new AbortController();

  constructor(clock: Pick<Clock, "sleep">) {
    this.#clock = clock;
  }

  readonly judge = (upstream: Upstream, observation: Observation, times: PollTimes): Promise<PollResult> => {
    const judged = this.#turn.then(() => this.#judge(upstream, observation, times));
    this.#turn = judged.catch(() => {});
    return judged;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#idle.abort();
    await this.#thread.end();
  }

  async #judge(upstream: Upstream, observation: Observation, times: PollTimes): Promise<PollResult> {
    const { large, withoutKeys: _here, ...sent } = observation;
    if (large === undefined) return judge(upstream, observation, times);
    const { release, ...needed } = large;
    this.#idle.abort();
    try {
      // What it sends is of no use there, and may be large.
      const asked = { ...upstream, body: undefined };
      const question: LargeAnswer = { upstream: asked, observation: sent, large: needed, times };
      const answer = await this.#thread.ask<PollResult>(question);
      if ("poll" in answer) return answer;
      throw answer.error ?? new Error("the thread that judges large bodies has ended");
    } finally {
      release();
      this.#idle = new AbortController();
      void this.#endWhenIdle(this.#idle.signal);
    }
  }

  async #endWhenIdle(isUsed: AbortSignal): Promise<void> {
    await this.#clock.sleep(IDLE_MS, isUsed);
    if (!isUsed.aborted) await this.#thread.end();
  }
}
