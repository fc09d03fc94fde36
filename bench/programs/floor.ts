import type { Fleet } from "./pacewatch-config.ts";

/** What to ask of an upstream; or how many requests were sent so far. */
export type FloorQuestion =
  | "asked"
  | (Pick<Fleet, "upstreams" | "connection"> & {
      readonly url: string;
      readonly caFile: string;
      readonly perSecond: number;
    });
