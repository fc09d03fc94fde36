import type { PollEvent, Recorder } from "../../core/poll/ports.ts";
import type { Clock } from "../../core/time/clock.ts";
import { quotaTrack } from "../../core/history/kept-values.ts";
import type { SavedHistory, StateBuffer } from "../../core/history/state.ts";
import { pollStatusOf, type Incident } from "../../core/status/status.ts";

/** Buffers the polls, values and incidents of one upstream for the state file. */
export class StateRecorder implements Recorder {
  readonly #upstream: string;
  readonly #history: SavedHistory;
  readonly #buffer: StateBuffer;
  readonly #clock: Clock;
  #saved: Incident | undefined;

  constructor(upstream: string, history: SavedHistory, buffer: StateBuffer, clock: Clock) {
    this.#upstream = upstream;
    this.#history = history;
    this.#buffer = buffer;
    this.#clock = clock;
    this.#saved = history.newestIncident;
  }

  record(event: PollEvent): void {
    if (event.kind === "polled") {
      const { endedAtMs, withinObjective } = event.poll;
      const status = pollStatusOf(event.poll);
      this.#buffer.addPoll({ upstream: this.#upstream, endedAtMs, withinObjective, status });
      for (const { name } of event.poll.values ?? []) this.#addValue(name);
      for (const { quota } of event.poll.quotas ?? []) this.#addValue(quotaTrack(quota));
    } else if (event.kind === "found_offline") {
      const { pollId, endedAtMs } = event;
      this.#buffer.addFoundOffline({ upstream: this.#upstream, pollId, endedAtMs });
    } else if (event.kind !== "health_changed") {
      return;
    }
    const incident = this.#history.newestIncident;
    if (incident === undefined || isSame(incident, this.#saved)) return;
    this.#saved = incident;
    this.#buffer.addIncident({ ...incident, updatedAtMs: this.#clock.wallNow() });
  }

  #addValue(name: string): void {
    const newest = this.#history.values.newest(name);
    if (newest !== undefined) this.#buffer.addValue({ ...newest, upstream: this.#upstream, name });
  }
}

function isSame(incident: Incident, saved: Incident | undefined): boolean {
  return (
    saved !== undefined &&
    incident.startedAtMs === saved.startedAtMs &&
    incident.endedAtMs === saved.endedAtMs &&
    incident.polls === saved.polls &&
    incident.state === saved.state &&
    incident.reason === saved.reason
  );
}
