import type { HealthChange, HealthState } from "../poll/health.ts";
import { type PollOutcome, reasonOf } from "../exchange/outcome.ts";
import type { Incident } from "../status/status.ts";

export const INCIDENTS_KEPT = 50;

/** The worst is last. Other states are no incident. */
const SEVERITY: readonly HealthState[] = ["throttled", "unauthorized", "down"];

type Open = { state: HealthState; reason: string; readonly startedAtMs: number; polls: number };

/** The incidents of one upstream: each begins with a bad state and ends with the first ok. */
export class Incidents {
  readonly #upstream: string;
  /** The newest last. */
  readonly #ended: Incident[];
  #open: Open | undefined;
  /** Of the last failed poll: the change of health that it causes comes after it. */
  #lastReason = "";

  /** Continues `restored`, the newest first: an open one stays open until the first ok. */
  constructor(upstream: string, restored: readonly Incident[] = []) {
    this.#upstream = upstream;
    const [newest] = restored;
    this.#open = newest === undefined || newest.endedAtMs !== undefined ? undefined : { ...newest };
    this.#ended = restored
      .filter((incident) => incident.endedAtMs !== undefined)
      .slice(0, INCIDENTS_KEPT)
      .reverse();
  }

  polled(outcome: PollOutcome): void {
    if (outcome.kind !== "ok") this.#lastReason = reasonOf(outcome);
    if (this.#open !== undefined && outcome.kind !== "ok") this.#open.polls += 1;
  }

  healthChanged(change: HealthChange): void {
    const severity = SEVERITY.indexOf(change.to);
    if (severity >= 0) {
      this.#open ??= { state: change.to, reason: this.#lastReason, startedAtMs: change.atMs, polls: 1 };
      if (severity > SEVERITY.indexOf(this.#open.state)) {
        this.#open.state = change.to;
        this.#open.reason = this.#lastReason;
      }
    } else if (change.to !== "unknown" && this.#open !== undefined) {
      this.#ended.push({ ...this.#shown(this.#open), endedAtMs: change.atMs });
      if (this.#ended.length > INCIDENTS_KEPT) this.#ended.shift();
      this.#open = undefined;
    }
  }

  get newest(): Incident | undefined {
    return this.#open === undefined ? this.#ended.at(-1) : this.#shown(this.#open);
  }

  /** The newest first. */
  get all(): readonly Incident[] {
    const ended = this.#ended.toReversed();
    return this.#open === undefined ? ended : [this.#shown(this.#open), ...ended];
  }

  #shown({ state, reason, startedAtMs, polls }: Open): Incident {
    return { upstream: this.#upstream, state, reason, startedAtMs, endedAtMs: undefined, polls };
  }
}
