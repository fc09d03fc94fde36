import { PHASES, type PhaseTimesMs } from "../core/exchange.ts";

const BAR_CELLS = 32;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** One line for each phase that happened, each bar where it lies in the whole: a small waterfall. */
export function phaseBars(phasesMs: PhaseTimesMs): readonly string[] {
  const happened = PHASES.flatMap((phase) => {
    const ms = phasesMs[phase];
    return ms === undefined ? [] : [{ phase, ms }];
  });
  const totalMs = happened.reduce((sum, { ms }) => sum + ms, 0);
  let beforeMs = 0;
  return happened.map(({ phase, ms }) => {
    const offset = totalMs === 0 ? 0 : Math.floor((beforeMs / totalMs) * BAR_CELLS);
    beforeMs += ms;
    const bar = totalMs === 0 ? "" : barOf((ms / totalMs) * BAR_CELLS);
    return `${phase.padEnd(8)} ${formatMs(ms).padStart(9)}  ${" ".repeat(offset)}${bar}`;
  });
}

export function formatMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  if (ms < 1_000) return `${ms.toFixed(0)} ms`;
  return `${(ms / 1_000).toFixed(2)} s`;
}

/** What is too short for an eighth of a cell is still there. */
function barOf(cells: number): string {
  const eighths = Math.max(1, Math.round(cells * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}
