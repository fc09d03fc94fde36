/** Any text as a part of a query or a path, with no sign in it but letters, digits and `-._~` (RFC 3986). */
export function percentEncoded(text: string): string {
  const escape = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*]/g, escape);
}

/** Percent-encoded text, decoded; as it is where it cannot be decoded. */
export function percentDecoded(text: string, decode: (text: string) => string = decodeURIComponent): string {
  try {
    return decode(text);
  } catch {
    return text;
  }
}
