/** How often each of both is timed, in turns: what else the machine does then falls on both. */
const PAIRS = 9;
/** Of one time. Less could be the grain of the clock, and a ratio of it says nothing. */
const LEAST_MS = 20;

/** How often the work has to be repeated to take as long as can be measured. */
function repeatsOf(work: () => void): number {
  for (let repeats = 1; ; repeats *= 2) if (cpuMsOf(work, repeats) >= LEAST_MS) return repeats;
}

/** Of this process alone: other programs may have the processor meanwhile. */
function cpuMsOf(work: () => void, repeats: number): number {
  const before = process.cpuUsage();
  for (let repeat = 0; repeat < repeats; repeat += 1) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** How much longer the larger takes than the smaller: both are measured in pairs, and the middle pair counts. */
export function growth(smaller: () => void, larger: () => void): number {
  const [ofSmaller, ofLarger] = [repeatsOf(smaller), repeatsOf(larger)];
  const ratios = Array.from(
    { length: PAIRS },
    () => cpuMsOf(larger, ofLarger) / ofLarger / (cpuMsOf(smaller, ofSmaller) / ofSmaller),
  );
  return ratios.toSorted((a, b) => a - b)[Math.floor(PAIRS / 2)] ?? Number.NaN;
}
