/**
 * One process of a fleet leads, the others stand by. `register.ts` is the lock's port, `election.ts` decides who leads,
 * `notes.ts` what the next leader must know and when it may begin, `candidate.ts` brings them together, and here is the
 * time and the network.
 */

import { type Call, Candidate, type CandidateParts, type LeadState } from "./candidate.ts";
import type { Answer } from "./election.ts";
import type { Reading, Register } from "./register.ts";
import type { Clock } from "../time/clock.ts";

export interface LeadClock extends Clock {
  /** Milliseconds since the machine booted: they go on while it is suspended, and no step of the wall clock moves them. */
  sinceBootMs(): number;
}

export type LeaderParts = Omit<CandidateParts, "ask" | "now" | "wallNow"> & {
  readonly lock: Register;
  readonly notes: Register;
  readonly clock: LeadClock;
};

export interface Leader {
  readonly state: LeadState;
  /**
   * Nothing is sent from now on. It leads on until `drained` tells for each budget how many ms its last lease still
   * counts, or its own start is away: 0 where neither is. It notes that, frees the lock and ends; or ends without, soon
   * after its right would have ended.
   */
  stop(drained: Promise<ReadonlyMap<string, number>>): Promise<void>;
}

export function startElection({ lock, notes, clock, ...parts }: LeaderParts): Leader {
  let sleeping = new AbortController();
  const ended = Promise.withResolvers<void>();
  const candidate = new Candidate({
    ...parts,
    now: () => ({ monoMs: clock.now(), bootMs: clock.sinceBootMs() }),
    wallNow: () => clock.wallNow(),
    ask: (call) =>
      void answerOf(call.of === "lock" ? lock : notes, call)
        .then(call.answer)
        .then(again),
  });

  /** What it waits for may have changed. */
  function again(): void {
    sleeping.abort();
  }

  async function live(): Promise<void> {
    while (!candidate.isOver) {
      candidate.wake();
      sleeping = new AbortController();
      await clock.sleep(Math.max(1, candidate.wakeAtMs - clock.now()), sleeping.signal);
    }
  }

  live().then(ended.resolve, ended.reject);
  return {
    get state() {
      return candidate.state;
    },
    async stop(drained) {
      candidate.stop();
      again();
      // A budget that is not told of counts as in use.
      void drained
        .catch((): ReadonlyMap<string, number> => new Map())
        .then((leftMs) => {
          candidate.drained(leftMs);
          again();
        });
      await ended.promise;
    },
  };
}

async function answerOf(register: Register, { write }: Call): Promise<Answer<Reading>> {
  try {
    if (write === undefined) return { kind: "read", reading: await register.read() };
    return await register.write(write.text, write.version);
  } catch {
    return { kind: "unknown" };
  }
}
