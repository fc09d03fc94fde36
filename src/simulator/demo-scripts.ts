import type { Fault, FaultScript, ScriptEntry } from "./faults.ts";

/** Both begin with 40 s of health; then, within three minutes, every state that an upstream can be in is seen. */
const PERIOD_MS = 180_000;

export const EMAIL_DEMO_SCRIPT: FaultScript = {
  periodMs: PERIOD_MS,
  entries: [
    entry(40, 65, "answers after 3 s", { kind: "slow", delayMs: 3_000 }),
    entry(65, 90, "answers 500", { kind: "status", code: 500 }),
    entry(110, 130, "resets connections", { kind: "reset", at: "before_head" }),
    entry(145, 170, "answers 401, as to a revoked key", { kind: "unauthorized" }),
  ],
};

export const AI_ROUTER_DEMO_SCRIPT: FaultScript = {
  periodMs: PERIOD_MS,
  entries: [
    entry(40, 70, "answers after 0.2 s to 3.5 s", { kind: "jitter", minMs: 200, maxMs: 3_500 }),
    entry(70, 100, "answers 429 with Retry-After: 20", { kind: "throttle", retryAfter: "20" }),
    // The last pause may end at 120 s. A hang is long enough for a poll and its confirmation to time out.
    entry(135, 180, "accepts requests and never answers", { kind: "hang", at: "before_head" }),
  ],
};

function entry(fromSeconds: number, untilSeconds: number, words: string, fault: Fault): ScriptEntry {
  return { fromMs: fromSeconds * 1000, untilMs: untilSeconds * 1000, fault, words };
}
