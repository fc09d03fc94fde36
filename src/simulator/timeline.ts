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

/** When other words begin to hold, since the upstream's start; undefined where they never change again. */
export function nextChange(
  script: FaultScript,
  elapsedMs: number,
): { readonly atMs: number; readonly words: string } | undefined {
  const repeats = Number.isFinite(script.periodMs);
  const momentMs = repeats ? elapsedMs % script.periodMs : elapsedMs;
  const scenes = scenesOf(script);
  const now = scenes.find(({ fromMs, untilMs }) => fromMs <= momentMs && momentMs < untilMs);
  const again = scenes.map((scene) => ({ ...scene, fromMs: scene.fromMs + script.periodMs }));
  const next = [...scenes, ...(repeats ? again : [])].find(
    ({ fromMs, words }) => fromMs > momentMs && words !== now?.words,
  );
  return next && { atMs: elapsedMs - momentMs + next.fromMs, words: next.words };
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
