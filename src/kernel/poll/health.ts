/** The health of one upstream, folded from its outcomes. Pure: the poller acts on the result. */

import { type PollOutcome, type SkipCause, SKIPS } from "../exchange/outcome.ts";

export const HEALTH_STATES = ["unknown", "up", "degraded", "throttled", "unauthorized", "down"] as const;
export type HealthState = (typeof HEALTH_STATES)[number];

export type HealthChange = {
  readonly from: HealthState;
  readonly to: HealthState;
  /** Wall clock. */
  readonly atMs: number;
};

/** `refused`: our key. `blocked`: a bot wall. */
export type Failure = "refused" | "blocked" | "failed";

export type Health = {
  readonly state: HealthState;
  /** Confirmed; undefined while unknown. */
  readonly isUp: boolean | undefined;
  /** The newest failures without an ok between them, oldest first, at most one more than `confirm`. */
  readonly streak: readonly Failure[];
  /** The first poll of them was sent then. Monotonic; undefined where none has failed. */
  readonly failingSinceMs: number | undefined;
  /** Slots since the last completed poll. */
  readonly slotsWithoutPoll: number;
};

export type HealthEvent =
  | {
      readonly kind: "polled";
      readonly outcome: PollOutcome;
      readonly isDegraded: boolean;
      /** The upstream itself said that it fails for long enough (503 with Retry-After), or its token endpoint did. */
      readonly isConfirmed: boolean;
      /** Monotonic. */
      readonly sentMs: number;
      readonly endedMs: number;
    }
  | { readonly kind: "skipped"; readonly cause: SkipCause; readonly count: number }
  /** The budget or the upstream is paused. */
  | { readonly kind: "paused" };

export type HealthFold = {
  readonly health: Health;
  /** Asks for one more poll, so long after the one that failed: the failure is not confirmed yet. */
  readonly confirmsInMs: number | undefined;
  /** It is down: another look at it is worth so much after the poll that failed. */
  readonly looksAgainInMs?: number;
};

/** A failure is down once so many further polls have failed, and for so long. */
export type Confirmation = { readonly polls: number; readonly overMs: number };

export const SLOTS_UNTIL_UNKNOWN = 3;

const NO_FAILURES = { streak: [], failingSinceMs: undefined } as const;

export const UNKNOWN_HEALTH: Health = {
  state: "unknown",
  isUp: undefined,
  streak: [],
  failingSinceMs: undefined,
  slotsWithoutPoll: 0,
};

export function foldHealth(health: Health, event: HealthEvent, confirm: Confirmation): HealthFold {
  switch (event.kind) {
    case "polled":
      return foldPoll(health, event, confirm);
    case "skipped":
      return settled(foldSkip(health, event.cause, event.count));
    case "paused":
      return settled({ ...health, ...NO_FAILURES });
    default:
      return event satisfies never;
  }
}

type Polled = Extract<HealthEvent, { kind: "polled" }>;

function foldPoll(health: Health, event: Polled, confirm: Confirmation): HealthFold {
  const outcome = event.outcome;
  switch (outcome.kind) {
    case "ok":
      return settled({ ...UNKNOWN_HEALTH, state: event.isDegraded ? "degraded" : "up", isUp: true });
    case "throttled":
      return settled({ ...health, state: "throttled", ...NO_FAILURES, slotsWithoutPoll: 0 });
    case "failed": {
      const failure = outcome.reason === "blocked" ? "blocked" : "failed";
      return foldFailure(health, failure, event, confirm);
    }
    case "rejected":
      // Without a token the upstream was not asked, unless the token endpoint refuses us.
      if (outcome.reason === "auth" && !event.isConfirmed) return settled(foldSkip(health, "missed", 1));
      return foldFailure(health, "refused", event, confirm);
    case "ours":
      // It says nothing about the upstream: a missed slot.
      return settled(foldSkip(health, "missed", 1));
    default:
      return outcome satisfies never;
  }
}

/** Each further poll makes a bot wall surer that we are a bot, and so does one that comes soon. */
const MOST_CONFIRMATIONS_OF_A_WALL = 1;
const CONFIRMS_A_WALL_IN_MS = 30_000;

/**
 *      ✗ first failure                ✗ a slot that comes meanwhile counts     ✗ down
 *      |-- sent ------------------------------- over ----------------------------->|
 *
 * What lasts for less than `over` is a blip, and pages nobody.
 */
function foldFailure(
  health: Health,
  failure: Failure,
  { isConfirmed, sentMs, endedMs }: Polled,
  { polls, overMs }: Confirmation,
): HealthFold {
  const isWall = failure === "blocked";
  // A key that is known to be rejected is no failure that a timeout confirms, nor is a timeout one that it confirms.
  const isRefused = failure === "refused";
  const isRejected = health.state === "unauthorized";
  const isCertain = isConfirmed || (isRejected && isRefused);
  const isOther = isRejected && health.streak.includes("refused") !== isRefused;
  const { streak: before, failingSinceMs = sentMs } = isOther ? NO_FAILURES : health;
  const needed = (isWall ? Math.min(polls, MOST_CONFIRMATIONS_OF_A_WALL) : polls) + 1;
  const streak = isCertain
    ? Array.from({ length: needed }, () => failure)
    : [...before, failure].slice(-needed);
  const seen = { ...health, streak, failingSinceMs, slotsWithoutPoll: 0 };
  const missing = needed - streak.length;
  const leftMs = isCertain || needed === 1 ? 0 : Math.max(0, failingSinceMs + overMs - endedMs);
  if (missing > 0 || leftMs > 0) {
    const evenlyMs = leftMs / Math.max(1, missing);
    return { health: seen, confirmsInMs: isWall ? Math.max(evenlyMs, CONFIRMS_A_WALL_IN_MS) : evenlyMs };
  }
  if (streak.every((each) => each === "refused")) return settled({ ...seen, state: "unauthorized" });
  const down = settled({ ...seen, state: "down", isUp: false });
  return isWall ? down : { ...down, looksAgainInMs: looksAgainInMs(endedMs - failingSinceMs) };
}

const LOOKS_AGAIN_IN_MS = 10_000;

/** A quarter of the time that it has failed for: its end is seen soon, and a long outage is asked seldom. */
export function looksAgainInMs(failedForMs: number): number {
  return Math.max(LOOKS_AGAIN_IN_MS, failedForMs / 4);
}

function foldSkip(health: Health, cause: SkipCause, count: number): Health {
  if (SKIPS[cause].keepsHealth) return health;
  const slotsWithoutPoll = health.slotsWithoutPoll + count;
  if (slotsWithoutPoll < SLOTS_UNTIL_UNKNOWN) return { ...health, slotsWithoutPoll };
  return { ...UNKNOWN_HEALTH, slotsWithoutPoll: SLOTS_UNTIL_UNKNOWN };
}

function settled(health: Health): HealthFold {
  return { health, confirmsInMs: undefined };
}
