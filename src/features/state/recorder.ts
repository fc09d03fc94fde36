import type { PollEvent, Recorder } from "../../kernel/poll/ports.ts";
import { COST } from "../money/cost.ts";
import { QUOTAS_LEFT } from "../quota/reader.ts";
import { VALUES } from "../values/values.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { quotaTrack } from "../history/kept-values.ts";
import type { SavedHistory } from "../history/state.ts";
import type { StateBuffer } from "./buffer.ts";
import { incidentRow, valueRow } from "./tables.ts";
import { pollStatusOf } from "../history/kept-poll.ts";

/** Buffers the polls, values and incidents of one upstream for the state file. */
export class StateRecorder implements Recorder {
  readonly #upstream: string;
  readonly #history: SavedHistory;
  readonly #buffer: StateBuffer;
  readonly #clock: Clock;
  /** The newest incident as it was saved last, to see whether it has changed. */
  #saved: string | undefined;

  constructor(upstream: string, history: SavedHistory, buffer: StateBuffer, clock: Clock) {
    this.#upstream = upstream;
    this.#history = history;
    this.#buffer = buffer;
    this.#clock = clock;
    this.#saved = JSON.stringify(history.newestIncident);
  }

  record(event: PollEvent): void {
    if (event.kind === "judged") {
      const { watchedMs } = event;
      const { endedAtMs, withinObjective, said } = event.poll;
      const cost = COST.of(said);
      const status = pollStatusOf(event.poll);
      this.#buffer.addPoll({ upstream: this.#upstream, endedAtMs, withinObjective, watchedMs, status, cost });
      for (const { name } of VALUES.of(said)?.values ?? []) this.#saveValue(name);
      for (const { quota } of QUOTAS_LEFT.of(said) ?? []) this.#saveValue(quotaTrack(quota));
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

  #saveValue(name: string): void {
    const newest = this.#history.values.newest(name);
    if (newest !== undefined) this.#buffer.put(valueRow(this.#upstream, { ...newest, name }));
  }
}
