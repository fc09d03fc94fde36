/**
 * What one answer may cost at most: whatever is read, compared, searched or kept of one is bounded here, and nowhere
 * else. `docs/threat-model.md` has the table and the sums.
 */

const KIB = 1024;

/** Reading: a head, and the part of a body that is read, decoded and judged on the polling thread. */
export const HEAD_BYTES: number = 64 * KIB;

/**
 * No provider that is known speaks of more than a dozen limits in one answer: longer lists are not read, and of more
 * limits the rest is left out. So no answer can make us compare many.
 */
export const MOST_LIMITS = 32;
/** Each limit may have four headers: itself, what is left, its reset, its window. Further ones are left out. */
export const LIMIT_HEADERS: number = 4 * MOST_LIMITS;
export const LIMIT_VALUE_CHARS = 4096;
/** Names of limits and of what they are about. */
export const LIMIT_TEXT_CHARS = 100;

/** The texts of all limits of one answer together. */
export const LIMIT_TEXTS_CHARS = 2_000;

/** Searching for keys: so much of one text, and so many characters of what it can be decoded to for each of its own. */
export const SEARCHED_TEXT_CHARS = 4_000;
const SEARCHED_PER_CHAR = 20;
/** A short text may be encoded many times over. */
const SEARCHED_LEAST_CHARS = 10_000;

export function searchedChars(textChars: number): number {
  return Math.max(SEARCHED_LEAST_CHARS, SEARCHED_PER_CHAR * textChars);
}
