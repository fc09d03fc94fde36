/** The candidate that was probably meant: at most two letters away, or one is the beginning of the other. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.min(2, Math.ceil(word.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  if (ranked[0] !== undefined || word.length < 3) return ranked[0]?.candidate;
  return candidates.find((candidate) => candidate.startsWith(word) || word.startsWith(candidate));
}

export function didYouMean(word: string, candidates: readonly string[]): string {
  const found = nearest(word, candidates);
  return found === undefined ? "" : `did you mean "${found}"? `;
}

/** Letters to insert, remove or replace. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
