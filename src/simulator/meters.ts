/** The algorithms by which an upstream decides whether there is room for one more request. */

export type Limit = { readonly requests: number; readonly perMs: number };

export type Room = {
  readonly remaining: number;
  /** Whole milliseconds until there is room for one more request than now; 0 where nothing is used. */
  readonly resetMs: number;
};

export interface Meter {
  room(nowMs: number): Room;
  charge(nowMs: number): void;
}

/** How an upstream counts. `windowStartMs`: any moment at which a fixed window began. */
export type Algorithm = (limit: Limit, windowStartMs: number) => Meter;

/** At most `requests` in every half-open window (now − perMs, now]. */
export const slidingLog: Algorithm = ({ requests, perMs }) => {
  const chargedAtMs: number[] = [];
  return {
    room(nowMs) {
      const recent = chargedAtMs.findIndex((atMs) => atMs > nowMs - perMs);
      chargedAtMs.splice(0, recent === -1 ? chargedAtMs.length : recent);
      const oldestMs = chargedAtMs[0];
      return {
        remaining: requests - chargedAtMs.length,
        resetMs: oldestMs === undefined ? 0 : Math.ceil(perMs - (nowMs - oldestMs)),
      };
    },
    charge: (nowMs) => void chargedAtMs.push(nowMs),
  };
};

/** At most `requests` in each fixed window: up to twice as many around a window's edge. */
export const fixedWindow: Algorithm = ({ requests, perMs }, windowStartMs) => {
  let [window, used] = [Number.NaN, 0];
  return {
    room(nowMs) {
      const sinceStartMs = nowMs - windowStartMs;
      const now = Math.floor(sinceStartMs / perMs);
      if (now !== window) [window, used] = [now, 0];
      const resetMs = used === 0 ? 0 : Math.ceil(perMs - (sinceStartMs - now * perMs));
      return { remaining: requests - used, resetMs };
    },
    charge: () => void (used += 1),
  };
};
