import type { Config } from "../../kernel/config/config.ts";
import type { Opened } from "../../platform/opened.ts";
import type { AppFleet, FleetParts } from "./fleet.ts";

/** The client of the lock is loaded only where there is one. */
export function fleetOf({ fleet }: Config): ((parts: FleetParts) => Promise<Opened<AppFleet>>) | undefined {
  return fleet && (async (parts) => (await import("./fleet.ts")).openFleet(fleet, parts));
}
