import type { AdvertisedLimit } from "./advice.ts";

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
