import { MINUTE_MS } from "../../kernel/time/duration.ts";
import { eachInPieces, type Pieces } from "../../http/routes/pieces.ts";
import type { Status } from "./status.ts";
import type { Incident } from "../history/incidents.ts";

/** The incidents that began in one span are sorted in one piece. Thousands of upstreams keep fifty each. */
const SPAN_MS = 10 * MINUTE_MS;

/** Those of all upstreams, the newest first. */
export function* incidentsOfAll(status: Status): Pieces<readonly Incident[]> {
  const bySpan = new Map<number, Incident[]>();
  for (const name of status.names) {
    for (const incident of status.incidentsOf(name)) {
      const span = Math.floor(incident.startedAtMs / SPAN_MS);
      const others = bySpan.get(span);
      if (others === undefined) bySpan.set(span, [incident]);
      else others.push(incident);
    }
    yield;
  }
  const newestFirst = [...bySpan].sort(([one], [other]) => other - one);
  const sorted = yield* eachInPieces(newestFirst, ([, incidents]) =>
    incidents.sort((one, other) => other.startedAtMs - one.startedAtMs),
  );
  return sorted.flat();
}
