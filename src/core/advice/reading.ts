/** What is left under one policy. */
export type QuotaLeft = {
  readonly requests: number;
  readonly limit: number | undefined;
  readonly perMs: number | undefined;
  readonly resetMs: number | undefined;
};

/** What one kind of rate-limit headers says. */
export type Reading = {
  readonly limits: readonly AdvertisedLimit[];
  readonly left: readonly QuotaLeft[];
  readonly malformed: number;
};

export const NOTHING_SAID: Reading = { limits: [], left: [], malformed: 0 };
export const UNREADABLE: Reading = { limits: [], left: [], malformed: 1 };

/** `requests` allowed in `perMs`, which is undefined if the signal has no window. */
export type AdvertisedLimit = { readonly requests: number; readonly perMs: number | undefined };

/** A member of a structured list (RFC 9651), as used for rate limits. */
export type StructuredItem = {
  /** A String or a Token. */
  readonly name: string;
  /** Without values of other types, such as a partition key. */
  readonly parameters: ReadonlyMap<string, string | number | boolean>;
};

/** Undefined if the text is not a list. Never throws. */
export type ParseList = (text: string) => readonly StructuredItem[] | undefined;
