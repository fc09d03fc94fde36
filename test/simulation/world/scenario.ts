import type { Budget, Rate, Upstream } from "../../../src/kernel/config/config.ts";
import type { Schedule } from "../../../src/kernel/schedule/schedule.ts";
import type { AlgorithmName } from "../../support/algorithms.ts";

/** What an owner of upstreams counts by: one key. It outlives the names that a config gives to its budget. */
export type Credential = {
  readonly id: string;
  readonly algorithm: AlgorithmName;
  readonly windowStartMs: number;
  /** How fast the owner's clock runs against ours. */
  readonly clockRate: number;
};

export type Account = { readonly credential: string; readonly budget: Budget };

/** What a config file says, and which key stands behind each budget. */
export type Setup = { readonly accounts: readonly Account[]; readonly upstreams: readonly Upstream[] };

/** How long a request travels while faults last: a little, up to the timeout, or whatever is the worst. */
export const ROADS = ["quick", "jittery", "wild"] as const;
export type Road = (typeof ROADS)[number];

export const HINTS = ["none", "zero", "garbage", "seconds", "date", "rate_limit", "hostile"] as const;
export type Hint = (typeof HINTS)[number];

/** What an upstream does to those who ask it. */
export type Weather =
  | { readonly kind: "throttle"; readonly status: 402 | 429; readonly hint: Hint; readonly seconds: number }
  | { readonly kind: "busy"; readonly seconds: number }
  | { readonly kind: "exhausted"; readonly seconds: number }
  | { readonly kind: "lowered"; readonly part: number }
  | { readonly kind: "status"; readonly status: number }
  | {
      readonly kind:
        | "scarce"
        | "garbled"
        | "hang"
        | "stuck"
        | "lost"
        | "refused"
        | "reset"
        | "cut"
        | "slow"
        | "bug";
    };

export type Edit =
  | { readonly kind: "none" }
  | { readonly kind: "rename"; readonly credential: string; readonly to: string }
  | { readonly kind: "share"; readonly credential: string; readonly share: number }
  | { readonly kind: "rates"; readonly credential: string; readonly rates: readonly Rate[] }
  | { readonly kind: "linger"; readonly credential: string; readonly lingerMs: number }
  | {
      readonly kind: "timing";
      readonly upstream: string;
      readonly schedule: Schedule;
      readonly timeoutMs: number;
      readonly confirm: number;
    }
  | { readonly kind: "move"; readonly upstream: string; readonly credentials: readonly string[] }
  | { readonly kind: "remove"; readonly upstream: string }
  | { readonly kind: "add"; readonly credential: string; readonly upstream: Upstream }
  | { readonly kind: "close_account"; readonly credential: string }
  | { readonly kind: "open_account"; readonly account: Account; readonly upstreams: readonly Upstream[] };

export type Happening = { readonly atMs: number } & (
  | { readonly kind: "weather"; readonly whom: string; readonly forMs: number; readonly weather: Weather }
  | { readonly kind: "crash"; readonly downMs: number; readonly takesTheMachine: boolean }
  | { readonly kind: "restart"; readonly downMs: number }
  | { readonly kind: "stall" | "suspend"; readonly forMs: number }
  | { readonly kind: "step"; readonly byMs: number }
  | { readonly kind: "reload"; readonly edit: Edit }
);

/** Everything that happens in one run, decided before it begins. */
export type Scenario = {
  readonly seed: string;
  readonly credentials: readonly Credential[];
  readonly setup: Setup;
  readonly roads: ReadonlyMap<string, Road>;
  /** How late timers of the process may fire while faults last. */
  readonly lagMs: number;
  /** In the order of their moments. */
  readonly happenings: readonly Happening[];
  /** At least so long; longer where it takes longer to see that everything recovered. */
  readonly lengthMs: number;
};

/** When the effect of a happening is over, as far as the world outside of the process goes. */
export function endOf(happening: Happening): number {
  switch (happening.kind) {
    case "weather":
    case "stall":
    case "suspend":
      return happening.atMs + happening.forMs;
    case "crash":
    case "restart":
      return happening.atMs + happening.downMs;
    case "step":
    case "reload":
      return happening.atMs;
    default:
      return happening satisfies never;
  }
}
