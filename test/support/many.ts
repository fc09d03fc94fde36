/** Tests of random worlds try so many in the quick run, and ten times as many in the long one. */
const TIMES = Number(process.env["WORLDS_TIMES"] ?? 1);

export function worlds(quickly: number): number {
  return quickly * TIMES;
}
