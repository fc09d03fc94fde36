import type { Caller } from "../../../../src/core/fleet/board.ts";
import { BoardModel } from "../../../models/board.ts";
import { SharedBudgetModel } from "../../../models/shared-budget.ts";
import type { SharedTerms } from "../../../../src/core/fleet/ledger-store.ts";
import type { Board, KeptBudget } from "./memory.ts";
import type { StoreTime } from "./server.ts";

/** Stores with one fault each, built around the real ones: what begins anew believes that it began long ago. */

const LONG_AGO_MS = 86_400_000;

export function warmBudget(): KeptBudget {
  const real = new SharedBudgetModel();
  let run: string | undefined;
  const age = (terms: SharedTerms, at: { readonly nowMs: number; readonly run: string }): void => {
    if (run === at.run) return;
    run = at.run;
    real.look(terms, false, { ...at, nowMs: at.nowMs - LONG_AGO_MS });
  };
  return {
    waitFor: (terms, at) => {
      age(terms, at);
      return real.waitFor(terms, at);
    },
    grant: (terms, lease, at) => real.grant(terms, lease, at),
    state: (terms, at) => real.state(terms, at),
    report: (terms, messages, at) => {
      age(terms, at);
      return real.report(terms, messages, at);
    },
    look: (terms, isAnew, at) => {
      age(terms, at);
      return real.look(terms, isAnew, at);
    },
    reportUsage: (terms, contribution, at) => {
      age(terms, at);
      return real.reportUsage(terms, contribution, at);
    },
  };
}

export function warmBoard(): Board {
  const real = new BoardModel();
  let run: string | undefined;
  const age = (time: StoreTime, { ttlMs }: Caller): void => {
    if (run === time.runId) return;
    run = time.runId;
    const nobody = { session: "nobody#0", ttlMs, expectedMs: undefined, isStepSure: false };
    const longAgo = { ...time, nowMs: time.nowMs - LONG_AGO_MS };
    real.release(longAgo, { ...nobody, upstreams: [], endsSession: true });
  };
  return {
    beat: (time, request) => {
      age(time, request);
      return real.beat(time, request);
    },
    claim: (time, request) => {
      age(time, request);
      return real.claim(time, request);
    },
    release: (time, request) => {
      age(time, request);
      return real.release(time, request);
    },
  };
}
