const beganMs = performance.now();

/** One line of a story, with the seconds since it began. */
export function say(text: string): void {
  console.log(`${((performance.now() - beganMs) / 1_000).toFixed(1).padStart(7)} s  ${text}`);
}
