import type { FleetMode } from "../../../src/core/config/config.ts";
import type { Credential, Happening, Road, Setup } from "../world/scenario.ts";

/** What the config of every replica says of the fleet. */
export type FleetTerms = {
  readonly mode: FleetMode;
  /** How many there may be. */
  readonly replicas: number;
  readonly reserve: number;
  readonly ttlMs: number;
};

/**
 * How much is asked for of what may be leased: less; all of it, so that the ways to the store alone cost slots; more
 * than a proof would accept, so that everything is always used.
 */
export const FLEET_STYLES = ["roomy", "tight", "greedy"] as const;
export type FleetStyle = (typeof FLEET_STYLES)[number];

type Weather = Omit<Extract<Happening, { kind: "weather" }>, "atMs">;

/** `replica` is a place where one runs: whoever comes back there may have another name. */
export type FleetHappening = { readonly atMs: number } & (
  | Weather
  | {
      readonly kind: "crash";
      readonly replica: number;
      readonly downMs: number;
      readonly takesTheMachine: boolean;
      readonly comesBackRenamed: boolean;
    }
  | { readonly kind: "restart"; readonly replica: number; readonly downMs: number }
  /** `whileConnecting`: not before it has something to send, but for no longer than it then lasts. */
  | {
      readonly kind: "stall";
      readonly replica: number;
      readonly forMs: number;
      readonly whileConnecting?: boolean;
    }
  /** Only one replica is cut off from the store. */
  | { readonly kind: "cut"; readonly replica: number; readonly forMs: number }
  /** `refuses`: connections are refused, else they hang. */
  | { readonly kind: "away"; readonly forMs: number; readonly refuses: boolean }
  | { readonly kind: "slow"; readonly forMs: number }
  | { readonly kind: "lossy"; readonly forMs: number }
  | { readonly kind: "empty"; readonly restarts: boolean }
  /** Another server takes over, and does not know of the last writes. */
  | { readonly kind: "promote"; readonly lostMs: number }
  /** The store's clock. */
  | { readonly kind: "step"; readonly byMs: number }
);

/** Everything that happens to a fleet in one run, decided before it begins. */
export type FleetScenario = {
  readonly seed: string;
  readonly fleet: FleetTerms;
  /** How many run at the start. */
  readonly running: number;
  readonly credentials: readonly Credential[];
  /** All replicas have the same, but for the phase of their slots. */
  readonly setup: Setup;
  readonly roads: ReadonlyMap<string, Road>;
  readonly lagMs: number;
  /** The longest that a message to or from the store takes where nothing is wrong. */
  readonly wayMs: number;
  readonly style: FleetStyle;
  /** How fast the store's clock runs against ours. */
  readonly storeRate: number;
  readonly happenings: readonly FleetHappening[];
  readonly lengthMs: number;
};

/** When its effect on the world is over. */
export function endOf(happening: FleetHappening): number {
  switch (happening.kind) {
    case "stall":
      return happening.atMs + (happening.whileConnecting === true ? 2 : 1) * happening.forMs;
    case "weather":
    case "cut":
    case "away":
    case "slow":
    case "lossy":
      return happening.atMs + happening.forMs;
    case "crash":
    case "restart":
      return happening.atMs + happening.downMs;
    case "empty":
    case "promote":
    case "step":
      return happening.atMs;
    default:
      return happening satisfies never;
  }
}
