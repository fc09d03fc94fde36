import type { Recorder } from "../../kernel/poll/ports.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { SavedHistory, Tally } from "../history/state.ts";
import type { StateBuffer } from "./buffer.ts";
import { incidentRow, valueRow } from "./tables.ts";
import { pollStatusOf } from "../history/kept-poll.ts";

/** Buffers the polls, values and incidents of one upstream for the state file. */
export function stateRecorder(
  upstream: string,
  history: SavedHistory,
  buffer: StateBuffer,
  clock: Clock,
  tallyOf: (poll: Poll) => Tally | undefined = () => undefined,
): Recorder {
  history.tracks.onTracked = (saved) => buffer.put(valueRow(upstream, saved));
  // The newest incident as it was saved last, to see whether it has changed.
  let saved = JSON.stringify(history.newestIncident);
  const saveIncident = (): void => {
    const incident = history.newestIncident;
    const seen = JSON.stringify(incident);
    if (incident === undefined || seen === saved) return;
    saved = seen;
    buffer.put(incidentRow(incident, history.evidence.of(incident), clock.wallNow()));
  };
  return {
    record(event) {
      if (event.kind === "judged") {
        const { poll, watchedMs } = event;
        const { endedAtMs, withinObjective } = poll;
        const status = pollStatusOf(poll);
        const { knownUntilMs } = history;
        const tally = tallyOf(poll);
        buffer.addPoll({ upstream, endedAtMs, withinObjective, watchedMs, status, knownUntilMs, tally });
      } else if (event.kind !== "health_changed" && event.kind !== "unwatched") {
        return;
      }
      saveIncident();
    },
  };
}
