/** One limit that an answer speaks of, in whatever dialect. What the answer did not say is undefined. */
export type LimitFamily = {
  /** From the names of its headers, so the same in every answer. */
  readonly key: string;
  /** `requests`, or the word for what else is counted. */
  readonly unit: string;
  /** May be a fraction, if it is a rate. */
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly perMs: number | undefined;
  readonly resetMs: number | undefined;
  /** The endpoint, model, bucket or partition that it is about. */
  readonly resource: string | undefined;
};

/** What one kind of rate-limit headers says. */
export type Reading = { readonly families: readonly LimitFamily[]; readonly malformed: number };

/** `requests` allowed in `perMs`, which is undefined if the signal has no window. */
export type AdvertisedLimit = { readonly requests: number; readonly perMs: number | undefined };

/** A member of a structured list (RFC 9651), as used for rate limits. */
export type StructuredItem = {
  /** A String or a Token. */
  readonly name: string;
  /** Byte sequences, such as a partition key, as text. Without values of other types. */
  readonly parameters: ReadonlyMap<string, string | number | boolean>;
};

/** Undefined if the text is not a list. Never throws. */
export type ParseList = (text: string) => readonly StructuredItem[] | undefined;
