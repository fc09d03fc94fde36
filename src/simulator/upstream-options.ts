import type { FaultScript } from "./faults.ts";
import type { Key } from "./key.ts";
import type { LimitHeaders } from "./limit-headers.ts";
import type { Algorithm, Limit } from "./meters.ts";
import type { Span } from "./randomness.ts";
import type { Resources } from "./resources.ts";

export type UpstreamOptions = {
  readonly name: string;
  /** Without a key, everybody is welcome. */
  readonly key?: Key | undefined;
  readonly limits?: readonly Limit[];
  readonly algorithm?: Algorithm;
  readonly limitHeaders?: LimitHeaders;
  /** From the counting to the answer. */
  readonly latency?: Span;
  /** From the arrival to the counting, as behind a queue; even a caller that left is counted then. */
  readonly countingDelay?: Span;
  readonly script?: FaultScript;
  readonly seed?: number;
  readonly port?: number;
  readonly host?: string;
  readonly resources?: Resources;
  /** How many of the last requests are kept in `seen`; all of them by default. */
  readonly keepSeen?: number;
};
