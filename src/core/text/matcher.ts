/** Tells whether a text matches expressions, in a bounded number of steps: the text is anybody's. */
export interface Matcher {
  /** Undefined where that takes more steps than are left for this answer. */
  matches(pattern: string, text: string): boolean | undefined;
}

/** For whoever judges an answer of an upstream without expressions. */
export const NO_MATCHER: Matcher = { matches: () => undefined };
