/** Not connected, or not any more; no answer in time; it answered that it won't. */
export const REDIS_FAILURES = ["away", "timeout", "refused"] as const;
export type RedisFailure = (typeof REDIS_FAILURES)[number];
