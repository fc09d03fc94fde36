import { POLLS_KEPT } from "../core/history.ts";

/** The strip and the plot beneath it share their columns: one for each poll that is kept, the newest at the right. */
export const COLUMNS: number = POLLS_KEPT;

/** The column of the poll at `index` of `polls`: where there are few, the left stays empty. */
export function columnOf(index: number, polls: number): number {
  return COLUMNS - polls + index;
}
