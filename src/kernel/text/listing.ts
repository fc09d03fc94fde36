/** Nobody reads more names than these in one sentence. */
const NAMED = 10;

/** The first of them, and how many more there are. */
export function listing(names: readonly string[]): string {
  const more = names.length - NAMED;
  return `${names.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
