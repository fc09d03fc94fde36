/**
 * The sum of one metric over all upstreams, of all its labels or of those that hold this text. By lines: a strict
 * parser takes seconds for 5,000 upstreams.
 */
export function totalOf(text: string, metric: string, holding = ""): number {
  let total = 0;
  for (const [, labels = "", value] of text.matchAll(new RegExp(`^${metric}\\{(.*)\\} (\\S+)$`, "gm"))) {
    if (labels.includes(holding)) total += Number(value);
  }
  return total;
}
