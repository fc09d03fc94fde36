import type { Observation } from "../../src/core/exchange/exchange.ts";
import type { HealthChange } from "../../src/core/poll/health.ts";
import type { SkipCause } from "../../src/core/exchange/outcome.ts";
import type { Poll } from "../../src/core/poll/poll.ts";
import type { Probe, Recorder } from "../../src/core/poll/ports.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Answers what it is told to, after as long as it is told to; counts what was sent. */
export class FakeProbe implements Probe {
  readonly sentAtMs: number[] = [];
  isClosed = false;
  readonly #clock: VirtualClock;
  readonly #answer: (turn: number) => Observation;

  constructor(clock: VirtualClock, answer: (turn: number) => Observation) {
    this.#clock = clock;
    this.#answer = answer;
  }

  async poll(signal: AbortSignal): Promise<Observation> {
    this.sentAtMs.push(this.#clock.now());
    const observation = this.#answer(this.sentAtMs.length);
    await this.#clock.sleep(observation.durationMs, signal);
    if (!signal.aborted) return observation;
    return {
      ...observation,
      exchange: { kind: "broken", fault: "timeout", detail: "", sent: true, head: undefined },
    };
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

/** Keeps an account of its own, and the story in words. */
export class StoryRecorder implements Recorder {
  readonly story: string[] = [];
  readonly polls: Poll[] = [];
  waiting = 0;
  inFlight = 0;
  slots = 0;
  skipped = 0;

  slotWaiting(): void {
    this.waiting += 1;
  }

  slotStarted(): void {
    this.waiting -= 1;
    this.inFlight += 1;
    this.slots += 1;
  }

  slotSkipped(cause: SkipCause, count: number): void {
    this.slots += count;
    this.skipped += count;
    this.story.push(count === 1 ? `skipped ${cause}` : `skipped ${cause} x${count}`);
  }

  slotGaveUp(cause: SkipCause): void {
    this.waiting -= 1;
    this.slots += 1;
    this.skipped += 1;
    this.story.push(`gave up ${cause}`);
  }

  polled(poll: Poll): void {
    this.inFlight -= 1;
    this.polls.push(poll);
    this.story.push(`${poll.origin} ${poll.outcome.kind}`);
  }

  healthChanged(change: HealthChange): void {
    this.story.push(`${change.from} -> ${change.to}`);
  }

  closes(): boolean {
    return this.slots === this.polls.length + this.inFlight + this.skipped && this.waiting >= 0;
  }
}
