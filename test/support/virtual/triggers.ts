import type { Trigger, Triggers } from "../../../src/kernel/schedule/triggers.ts";
import { slotsOf } from "../../../src/kernel/schedule/schedule.ts";
import type { VirtualClock } from "./clock.ts";

const TOLERANCE_MS = 1_000;

/**
 * Behaves as node-cron was seen to: it sleeps until its next match by the wall clock, looks again when it wakes,
 * goes back to sleep where the wall clock says that it is too early, and drops what it is late for.
 */
export function virtualTriggers(
  clock: Pick<VirtualClock, "after" | "wallNow">,
  latenessMs: () => number = () => 0,
): Triggers {
  return {
    start(schedule, onTick): Trigger {
      let timer: { cancel(): void } | undefined;
      let isStopped = false;
      const plan = (fromWallMs: number): void => {
        const expectedMs = slotsOf(schedule).next(fromWallMs);
        timer = clock.after(expectedMs - clock.wallNow() + latenessMs(), () => beat(expectedMs));
      };
      const beat = (expectedMs: number): void => {
        if (isStopped) return;
        const lateMs = clock.wallNow() - expectedMs;
        if (lateMs < 0) {
          timer = clock.after(-lateMs, () => beat(expectedMs));
          return;
        }
        plan(clock.wallNow());
        if (lateMs <= TOLERANCE_MS) onTick(expectedMs);
      };
      plan(clock.wallNow());
      return {
        replan: () => {
          timer?.cancel();
          plan(clock.wallNow());
        },
        stop: () => {
          isStopped = true;
          timer?.cancel();
        },
      };
    },
  };
}
