import type { PollEvent, Recorder } from "../../kernel/poll/ports.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { SavedHistory, Tally } from "../history/state.ts";
import type { StateBuffer } from "./buffer.ts";
import { incidentRow, valueRow } from "./tables.ts";
import { pollStatusOf } from "../history/kept-poll.ts";

/** Buffers the polls, values and incidents of one upstream for the state file. */
export class StateRecorder implements Recorder {
  readonly #upstream: string;
  readonly #history: SavedHistory;
  readonly #buffer: StateBuffer;
  readonly #clock: Clock;
  readonly #tallyOf: (poll: Poll) => Tally | undefined;
  /** The newest incident as it was saved last, to see whether it has changed. */
  #saved: string | undefined;

  constructor(
    upstream: string,
    history: SavedHistory,
    buffer: StateBuffer,
    clock: Clock,
    tallyOf: (poll: Poll) => Tally | undefined = () => undefined,
  ) {
    this.#upstream = upstream;
    this.#history = history;
    this.#buffer = buffer;
    this.#clock = clock;
    this.#tallyOf = tallyOf;
    history.tracks.onTracked = (saved) => buffer.put(valueRow(upstream, saved));
    this.#saved = JSON.stringify(history.newestIncident);
  }

  record(event: PollEvent): void {
    if (event.kind === "judged") {
      const { watchedMs } = event;
      const { endedAtMs, withinObjective } = event.poll;
      const tally = this.#tallyOf(event.poll);
      const status = pollStatusOf(event.poll);
      this.#buffer.addPoll({
        upstream: this.#upstream,
        endedAtMs,
        withinObjective,
        watchedMs,
        status,
        tally,
      });
    } else if (event.kind !== "health_changed" && event.kind !== "unwatched") {
      return;
    }
    this.#saveIncident();
  }

  #saveIncident(): void {
    const incident = this.#history.newestIncident;
    const seen = JSON.stringify(incident);
    if (incident === undefined || seen === this.#saved) return;
    this.#saved = seen;
    this.#buffer.put(incidentRow(incident, this.#history.evidence.of(incident), this.#clock.wallNow()));
  }
}
