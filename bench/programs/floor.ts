import type { Fleet } from "./pacewatch-config.ts";

/** A socket of Node.js, or undici's client on top of one, as Pacewatch has it. */
export type FloorClient = "node" | "undici";

/** What to ask of an upstream; or how many requests were sent so far. */
export type FloorQuestion =
  | "asked"
  | (Pick<Fleet, "upstreams" | "connection"> & {
      readonly url: string;
      readonly caFile: string;
      readonly perSecond: number;
      readonly client: FloorClient;
    });
