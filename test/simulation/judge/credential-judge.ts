import type { Limit } from "../../../src/simulator/meters.ts";
import { RequestLedger } from "../../../src/simulator/request-ledger.ts";
import { ALGORITHMS } from "../../support/algorithms.ts";
import type { Flight } from "../world/flight.ts";
import type { Credential, Setup } from "../world/scenario.ts";
import { covers, termsOf, type Terms } from "../world/terms.ts";
import { WindowJudge } from "./window-judge.ts";

/** How the owner of a key counts: by its own algorithm and clock, and by any window wherever it begins. */
export class CredentialJudge {
  readonly #credential: Credential;
  /** Undefined where a life may begin that cannot know of the one before: an algorithm makes no exceptions. */
  readonly #ledger: RequestLedger | undefined;
  readonly #windows: readonly WindowJudge[];

  /** `setups`: all that ever come into force. */
  constructor(credential: Credential, setups: readonly Setup[]) {
    this.#credential = credential;
    const terms = setups.map((setup) => termsOf(setup, credential.id)).filter((each) => each !== undefined);
    const lengths = new Set(terms.flatMap(({ rates }) => rates.map(({ perMs }) => perMs)));
    this.#windows = [...lengths].map((perMs) => new WindowJudge(perMs, leastLimit(terms, perMs)));
    const isSteady = terms.every((later, index) =>
      terms.slice(0, index).every((earlier) => covers(later, earlier)),
    );
    if (isSteady) {
      const limits = standingLimits(terms, lengths);
      this.#ledger = new RequestLedger(limits, ALGORITHMS[credential.algorithm], credential.windowStartMs);
    }
  }

  /** What is wrong, in words; undefined where nothing is. */
  count(flight: Flight, worldMs: number): string | undefined {
    const atMs = worldMs * this.#credential.clockRate;
    for (const window of this.#windows) {
      const verdict = window.count(flight, atMs);
      if (verdict !== undefined) return verdict.text;
    }
    if (this.#ledger?.count(atMs).allowed ?? true) return undefined;
    const { id, algorithm } = this.#credential;
    return `the key ${id} refused a request by its ${algorithm.replace("_", " ")}`;
  }
}

function leastLimit(terms: readonly Terms[], perMs: number): number {
  const limits = terms.flatMap(({ rates }) => rates.filter((rate) => rate.perMs === perMs));
  return Math.min(...limits.map(({ requests }) => requests));
}

/** Those that the config always knew of, at their widest: an algorithm cannot be asked about a limit that changes. */
function standingLimits(terms: readonly Terms[], lengths: ReadonlySet<number>): Limit[] {
  const standing = [...lengths].filter((perMs) =>
    terms.every(({ rates }) => rates.some((rate) => rate.perMs === perMs)),
  );
  return standing.map((perMs) => ({
    perMs,
    requests: Math.max(
      ...terms.flatMap(({ rates }) =>
        rates.filter((rate) => rate.perMs === perMs).map(({ requests }) => requests),
      ),
    ),
  }));
}
