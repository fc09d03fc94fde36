/** In arrays of plain numbers, what is not known is none. */
export const UNKNOWN: number = Number.NaN;

export function known(number: number | undefined): number | undefined {
  return number === undefined || Number.isNaN(number) ? undefined : number;
}
