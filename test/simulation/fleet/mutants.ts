import type { Config } from "../../../src/core/config/config.ts";
import type { FleetBoard } from "../../../src/core/fleet/board.ts";
import type { ViolationKind } from "../judge/violation.ts";
import type { FleetBias } from "./generate/generate.ts";
import type { FleetMutation } from "./mutation.ts";
import { warmBoard } from "./store/mutant-memories.ts";

export type FleetMutant = FleetMutation & {
  readonly caughtAs: readonly ViolationKind[];
  readonly bias: FleetBias;
};

/** Whoever takes over sends at once, as if nothing of the one before could count any more. */
function withoutColdStart(board: FleetBoard): FleetBoard {
  return {
    ...board,
    claim: async (request) => (await board.claim(request))?.map((each) => ({ ...each, waitMs: 0 })),
  };
}

export const FLEET_MUTANTS: readonly FleetMutant[] = [
  {
    name: "a takeover does not wait for what the one before has sent",
    bias: { tempers: ["crashing"], mode: "shard", style: "greedy", shares: [1], isStrict: true },
    caughtAs: ["limit"],
    wrapBoard: withoutColdStart,
  },
  {
    name: "every replica takes all of a budget that is polled from everywhere",
    bias: { tempers: ["everything"], mode: "everywhere", reserves: [0.2, 0.5], style: "greedy" },
    caughtAs: ["limit"],
    tellLedger: (config) => withFleet(config, { replicas: 1 }),
    wrapBoard: (board) => ({
      ...board,
      beat: async (request) => {
        const answer = await board.beat(request);
        if (answer === undefined || answer === "lost" || request.wants === undefined) return answer;
        const { seat, rest } = request.wants;
        return { ...answer, granted: { seat, rest, isAnew: false, isMixed: false } };
      },
    }),
  },
  {
    name: "a right to send is not looked at before the first byte",
    bias: { tempers: ["frozen"], mode: "shard", style: "greedy", shares: [1], isStrict: true },
    caughtAs: ["limit", "twice"],
    wrapProbe: (probe) => ({ poll: (signal) => probe.poll(signal), close: () => probe.close() }),
  },
  {
    name: "a session is believed in for longer than it lasts",
    bias: { tempers: ["cut-off", "stalling"] },
    caughtAs: ["twice"],
    believesInTtls: 3,
    wrapBoard: (board, ttlMs) => ({
      ...board,
      // It would tell by itself that it has believed in its session for too long.
      beat: (request) => {
        const { answeredAgoMs } = request;
        return board.beat({
          ...request,
          ttlMs,
          answeredAgoMs: answeredAgoMs && Math.min(answeredAgoMs, ttlMs / 2),
        });
      },
      claim: (request) => board.claim({ ...request, ttlMs }),
      release: (request) => board.release({ ...request, ttlMs }),
    }),
  },
  {
    name: "claims are accepted at once by a board that was emptied",
    bias: { tempers: ["emptied"] },
    caughtAs: ["twice"],
    openMemory: () => ({ board: warmBoard() }),
  },
];

function withFleet(config: Config, changes: Partial<NonNullable<Config["fleet"]>>): Config {
  return config.fleet === undefined ? config : { ...config, fleet: { ...config.fleet, ...changes } };
}
