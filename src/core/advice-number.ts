const PLAIN_NUMBER = /^\d{1,15}(?:\.\d{1,9})?$/;

/** A number as headers write it: digits, perhaps with a fraction; no sign, no exponent, at most 15 digits. */
export function plainNumberOf(text: string): number | undefined {
  return PLAIN_NUMBER.test(text) ? Number(text) : undefined;
}
