import { type FaultScript, HEALTHY, type ScriptEntry } from "./faults.ts";

/** The entries of a whole period, and the healthy times between them. */
export function scenesOf({ periodMs, entries }: FaultScript): readonly ScriptEntry[] {
  const scenes: ScriptEntry[] = [];
  let fromMs = 0;
  const healthyUntil = (untilMs: number): void => {
    if (untilMs > fromMs) scenes.push({ fromMs, untilMs, fault: HEALTHY, words: "is healthy" });
  };
  for (const entry of entries) {
    healthyUntil(entry.fromMs);
    scenes.push(entry);
    fromMs = entry.untilMs;
  }
  healthyUntil(periodMs);
  return scenes;
}

/** When other words begin to hold, since the upstream's start: without an end where the script begins anew. */
export function* changesOf(
  script: FaultScript,
): Generator<{ readonly atMs: number; readonly words: string }> {
  const scenes = scenesOf(script);
  let [now] = scenes.map(({ words }) => words);
  if (scenes.every(({ words }) => words === now)) return;
  for (let startMs = 0; Number.isFinite(startMs); startMs += script.periodMs) {
    for (const { fromMs, words } of scenes) {
      if (words !== now) yield { atMs: startMs + fromMs, words };
      now = words;
    }
  }
}

/** One line per scene: `0:40 to 1:05  answers 500`. */
export function describeScript(script: FaultScript): readonly string[] {
  const lines = scenesOf(script).map(
    ({ fromMs, untilMs, words }) => `${minutes(fromMs)} to ${minutes(untilMs)}  ${words}`,
  );
  return [...lines, "then again from 0:00"];
}

function minutes(timeMs: number): string {
  const seconds = Math.round(timeMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
