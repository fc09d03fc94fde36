import { entryAt, type Fault, type FaultScript, HEALTHY } from "./faults.ts";

/** A part of a script in which nothing changes. The scenes cover a whole period, its healthy parts too. */
type Scene = {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly fault: Fault;
  readonly words: string;
};

const HEALTHY_WORDS = "is healthy";

export function scenesOf(script: FaultScript): readonly Scene[] {
  const edges = [0, script.periodMs, ...script.entries.flatMap((entry) => [entry.fromMs, entry.untilMs])]
    .filter((edgeMs) => edgeMs >= 0 && edgeMs <= script.periodMs)
    .sort((left, right) => left - right);
  const scenes: Scene[] = [];
  for (const [index, fromMs] of edges.entries()) {
    const untilMs = edges[index + 1];
    if (untilMs === undefined || untilMs === fromMs) continue;
    const { fault, words } = entryAt(script, fromMs) ?? { fault: HEALTHY, words: HEALTHY_WORDS };
    const last = scenes.at(-1);
    if (last?.fault === fault && last.words === words) scenes[scenes.length - 1] = { ...last, untilMs };
    else scenes.push({ fromMs, untilMs, fault, words });
  }
  return scenes;
}

export type FaultChange = {
  /** Since the upstream's start. */
  readonly atMs: number;
  readonly fault: Fault;
  readonly words: string;
};

/** When the next scene begins; undefined where the script never changes again. */
export function nextChange(script: FaultScript, elapsedMs: number): FaultChange | undefined {
  const repeats = Number.isFinite(script.periodMs);
  const periodStartMs = repeats ? elapsedMs - (elapsedMs % script.periodMs) : 0;
  const nowEntry = entryAt(script, elapsedMs);
  const scenes = scenesOf(script);
  const starts = (repeats ? [0, script.periodMs] : [0]).flatMap((laterMs) =>
    scenes.map(({ fromMs, fault, words }) => ({ atMs: periodStartMs + laterMs + fromMs, fault, words })),
  );
  return starts.find(
    ({ atMs, fault, words }) =>
      atMs > elapsedMs &&
      (fault !== (nowEntry?.fault ?? HEALTHY) || words !== (nowEntry?.words ?? HEALTHY_WORDS)),
  );
}

/** One line per scene: `0:40 to 1:05  answers 500`. */
export function describeScript(script: FaultScript): string[] {
  const lines = scenesOf(script).map(
    ({ fromMs, untilMs, words }) =>
      `${minutes(fromMs)} ${Number.isFinite(untilMs) ? `to ${minutes(untilMs)}` : "onwards"}  ${words}`,
  );
  return Number.isFinite(script.periodMs) ? [...lines, `then again from 0:00`] : lines;
}

function minutes(timeMs: number): string {
  const seconds = Math.round(timeMs / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
