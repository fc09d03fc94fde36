import { BoardModel } from "../../../models/board.ts";
import type { Board } from "./memory.ts";
import type { StoreTime } from "./server.ts";

/** Boards with one fault each, built around the real one: what begins anew believes that it began long ago. */

const LONG_AGO_MS = 86_400_000;

export function warmBoard(): Board {
  const real = new BoardModel();
  let run: string | undefined;
  const age = (time: StoreTime): void => {
    if (run === time.runId) return;
    run = time.runId;
    const nobody = { session: "nobody#0.1", names: [], leasesEndInMs: {}, endsSession: true };
    real.release({ ...time, nowMs: time.nowMs - LONG_AGO_MS }, { ...nobody, ttlMs: 0 });
  };
  return {
    beat: (time, request) => {
      age(time);
      return real.beat(time, request);
    },
    claim: (time, request) => {
      age(time);
      return real.claim(time, request);
    },
    release: (time, request) => {
      age(time);
      return real.release(time, request);
    },
    tell: (time, news) => {
      age(time);
      return real.tell(time, news);
    },
    records: () => real.records(),
    draw: (request) => real.draw(request),
  };
}
