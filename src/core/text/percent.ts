/** Percent-encoded text, decoded; as it is where it cannot be decoded. */
export function percentDecoded(text: string, decode: (text: string) => string = decodeURIComponent): string {
  try {
    return decode(text);
  } catch {
    return text;
  }
}
