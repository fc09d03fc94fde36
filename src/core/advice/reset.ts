import { membersOf, readAll } from "./header-list.ts";
import { type Anchor, LONGEST_WAIT_MS, timeIn } from "../time/time-in.ts";

/** Undefined if it cannot be read or is too far away. */
function resetMsOf(text: string, anchorMs: Anchor, unitMs: number): number | undefined {
  const untilMs = timeIn(text, unitMs, anchorMs);
  if (untilMs === undefined || Math.abs(untilMs) > LONGEST_WAIT_MS) return undefined;
  return Math.max(0, Math.ceil(untilMs));
}

/** One reset, or a list of them. A date contains a comma, so the whole text is tried first. */
export function resetsMsOf(text: string, anchorMs: Anchor, unitMs: number): readonly number[] | undefined {
  const whole = resetMsOf(text, anchorMs, unitMs);
  if (whole !== undefined) return [whole];
  return readAll(membersOf(text), (part) => resetMsOf(part, anchorMs, unitMs));
}
