/** Whether gzip weighs at least as much as no encoding (RFC 9110, 12.5.3). */
export function prefersGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const weights = new Map(acceptEncoding.split(",").map((item) => parseItem(item)));
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  // An unlisted identity is acceptable, but not preferred.
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}

function parseItem(item: string): [coding: string, weight: number] {
  const [coding = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  if (weight === undefined) return [coding, 1];
  const value = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(weight)?.[1];
  return [coding, value === undefined ? 0 : Math.min(1, Number(value))];
}
