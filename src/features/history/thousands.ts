/** `1 200 345.5`: easier to read than the bare digits. Its spaces are thin, as a page has them. */
export function inThousands(amount: number | string, space: string = "\u202f"): string {
  const [whole = "", decimals] = String(amount).split(".");
  if (whole.length < 4) return String(amount);
  const separated = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, space);
  return decimals === undefined ? separated : `${separated}.${decimals}`;
}
