/** Any text as a part of a query or a path, with no sign in it but letters, digits and `-._~` (RFC 3986). */
export function percentEncoded(text: string): string {
  const escape = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*]/g, escape);
}

/** `99.95%`: a part, as a config writes it. */
export function formatPercentage(part: number): string {
  return `${Number((part * 100).toFixed(6))}%`;
}

/** Percent-encoded text, decoded; as it is where it cannot be decoded. */
export function percentDecoded(text: string, decode: (text: string) => string = decodeURIComponent): string {
  try {
    return decode(text);
  } catch {
    return text;
  }
}
