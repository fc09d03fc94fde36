/** The words of a text that has white space between them: a list that can be read at a glance. */
export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}
