/** `1 200 345.5`: easier to read than the bare digits. */
export function inThousands(amount: number | string, space: string = " "): string {
  const [whole = "", decimals] = String(amount).split(".");
  const separated = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, space);
  return decimals === undefined ? separated : `${separated}.${decimals}`;
}
