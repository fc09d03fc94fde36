/** In the mode `everywhere`, each replica has an equal part of every cap for itself. */

import type { Fleet } from "../config/config.ts";
import type { Shares } from "./board.ts";

/** How many replicas poll each upstream. */
export function vantagesOf(fleet: Pick<Fleet, "mode" | "replicas"> | undefined): number {
  return fleet?.mode === "everywhere" ? fleet.replicas : 1;
}

/** `seat` is used also while Redis is away. */
export function sharesOf({ replicas, reserve }: Pick<Fleet, "replicas" | "reserve">): Shares {
  return { seat: reserve / replicas, rest: (1 - reserve) / replicas };
}
