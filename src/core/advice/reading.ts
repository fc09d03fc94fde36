/** What is left under one policy. */
export type QuotaLeft = {
  readonly requests: number;
  readonly limit: number | undefined;
  readonly perMs: number | undefined;
  readonly resetMs: number | undefined;
};

/** What one kind of rate-limit headers said. */
export type Reading = {
  readonly limits: readonly AdvertisedLimit[];
  readonly left: readonly QuotaLeft[];
  readonly malformed: number;
};

export const NOTHING_SAID: Reading = { limits: [], left: [], malformed: 0 };
export const UNREADABLE: Reading = { limits: [], left: [], malformed: 1 };

/** `requests` allowed in `perMs`; the window is undefined where the signal did not say it. */
export type AdvertisedLimit = { readonly requests: number; readonly perMs: number | undefined };

/** A member of a structured list (RFC 9651), as far as rate limits use one. */
export type StructuredItem = {
  /** A String or a Token. */
  readonly name: string;
  /** What is neither text, number nor boolean (a partition key) is left out. */
  readonly parameters: ReadonlyMap<string, string | number | boolean>;
};

/** Undefined where the text is not such a list. Never throws. */
export type ParseList = (text: string) => readonly StructuredItem[] | undefined;
