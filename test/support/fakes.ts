import type { Observation } from "../../src/kernel/exchange/exchange.ts";
import type { Poll } from "../../src/kernel/poll/poll.ts";
import type { PollEvent, Probe, Recorder } from "../../src/kernel/poll/ports.ts";
import type { VirtualClock } from "./virtual/clock.ts";

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
  readonly pauses: PollEvent[] = [];
  waiting = 0;
  inFlight = 0;
  slots = 0;
  skipped = 0;

  record(event: PollEvent): void {
    switch (event.kind) {
      case "slot_waiting":
        this.waiting += 1;
        return;
      case "slot_started":
        this.waiting -= 1;
        this.inFlight += 1;
        this.slots += 1;
        return;
      case "slots_skipped": {
        const { cause, count, had } = event;
        if (had === "waited") this.waiting -= 1;
        this.slots += count;
        this.skipped += count;
        const often = count === 1 ? "" : ` x${count}`;
        this.story.push(`${had === "waited" ? "gave up" : "skipped"} ${cause}${often}`);
        return;
      }
      case "polled":
        this.inFlight -= 1;
        this.polls.push(event.poll);
        this.story.push(`${event.poll.origin} ${event.poll.outcome.kind}`);
        return;
      case "pause_requested":
        this.pauses.push(event);
        return;
      case "judged":
      case "refused":
        return;
      case "health_changed":
        this.story.push(`${event.from} -> ${event.to}`);
        return;
      case "unwatched":
        return;
      default:
        event satisfies never;
    }
  }

  closes(): boolean {
    return this.slots === this.polls.length + this.inFlight + this.skipped && this.waiting >= 0;
  }
}
