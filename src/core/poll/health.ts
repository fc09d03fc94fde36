/** The health of one upstream, folded from its outcomes. Pure: the engine acts on the result. */

import type { PollOutcome, SkipCause } from "../exchange/outcome.ts";

export const HEALTH_STATES = ["unknown", "up", "degraded", "throttled", "unauthorized", "down"] as const;
export type HealthState = (typeof HEALTH_STATES)[number];

export type HealthChange = {
  readonly from: HealthState;
  readonly to: HealthState;
  /** Wall clock. */
  readonly atMs: number;
};

/** `refused`: our key. `blocked`: a wall. */
export type Failure = "refused" | "blocked" | "failed";

export type Health = {
  readonly state: HealthState;
  /** Confirmed; undefined while unknown. */
  readonly isUp: boolean | undefined;
  /** The newest failures without an ok between them, oldest first, at most one more than `confirm`. */
  readonly streak: readonly Failure[];
  /** Slots since the last completed poll. */
  readonly slotsWithoutPoll: number;
};

export type HealthEvent =
  | {
      readonly kind: "polled";
      readonly outcome: PollOutcome;
      readonly isDegraded: boolean;
      /** The upstream itself said so (503 with Retry-After), or its token endpoint: needs no confirmation. */
      readonly isConfirmed: boolean;
    }
  | { readonly kind: "skipped"; readonly cause: SkipCause; readonly count: number }
  /** The budget or the upstream is paused. */
  | { readonly kind: "paused" };

export type HealthFold = {
  readonly health: Health;
  /** Ask for one more poll: the failure is not confirmed yet. `slowly`: not soon, a wall is watching how often we ask. */
  readonly wantsConfirmation: false | "soon" | "slowly";
};

export const SLOTS_UNTIL_UNKNOWN = 3;

export const UNKNOWN_HEALTH: Health = { state: "unknown", isUp: undefined, streak: [], slotsWithoutPoll: 0 };

export function foldHealth(health: Health, event: HealthEvent, confirm: number): HealthFold {
  switch (event.kind) {
    case "polled":
      return foldPoll(health, event, confirm);
    case "skipped":
      return { health: foldSkip(health, event.cause, event.count), wantsConfirmation: false };
    case "paused":
      return { health: { ...health, streak: [] }, wantsConfirmation: false };
    default:
      return event satisfies never;
  }
}

function foldPoll(
  health: Health,
  event: Extract<HealthEvent, { kind: "polled" }>,
  confirm: number,
): HealthFold {
  const outcome = event.outcome;
  switch (outcome.kind) {
    case "ok":
      return settled({ ...UNKNOWN_HEALTH, state: event.isDegraded ? "degraded" : "up", isUp: true });
    case "throttled":
      return settled({ ...health, state: "throttled", streak: [], slotsWithoutPoll: 0 });
    case "failed": {
      const failure = outcome.reason === "blocked" ? "blocked" : "failed";
      return foldFailure(health, failure, event.isConfirmed, confirm);
    }
    case "rejected":
      // Without a token the upstream was not asked, unless the token endpoint refuses us.
      if (outcome.reason === "auth" && !event.isConfirmed) return settled(foldSkip(health, "missed", 1));
      return foldFailure(health, "refused", event.isConfirmed, confirm);
    case "ours":
      // It says nothing about the upstream: a missed slot.
      return settled(foldSkip(health, "missed", 1));
    default:
      return outcome satisfies never;
  }
}

/** Each further poll makes a wall surer that we are a bot. */
const MOST_CONFIRMATIONS_OF_A_WALL = 1;

function foldFailure(health: Health, failure: Failure, isConfirmed: boolean, confirm: number): HealthFold {
  const isWall = failure === "blocked";
  const needed = (isWall ? Math.min(confirm, MOST_CONFIRMATIONS_OF_A_WALL) : confirm) + 1;
  const streak = isConfirmed
    ? Array.from({ length: needed }, () => failure)
    : [...health.streak, failure].slice(-needed);
  const seen = { ...health, streak, slotsWithoutPoll: 0 };
  if (streak.length < needed) return { health: seen, wantsConfirmation: isWall ? "slowly" : "soon" };
  return settled(
    streak.every((each) => each === "refused")
      ? { ...seen, state: "unauthorized" }
      : { ...seen, state: "down", isUp: false },
  );
}

function foldSkip(health: Health, cause: SkipCause, count: number): Health {
  // The upstream itself asked for a pause or for yielding, so missing polls say nothing new about it.
  if (cause === "backoff" || cause === "yield" || cause === "shutdown") return health;
  const slotsWithoutPoll = health.slotsWithoutPoll + count;
  if (slotsWithoutPoll < SLOTS_UNTIL_UNKNOWN) return { ...health, slotsWithoutPoll };
  return { ...UNKNOWN_HEALTH, slotsWithoutPoll: SLOTS_UNTIL_UNKNOWN };
}

function settled(health: Health): HealthFold {
  return { health, wantsConfirmation: false };
}
