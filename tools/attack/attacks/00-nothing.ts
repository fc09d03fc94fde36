import { once } from "node:events";
import type { Attack } from "../attack.ts";

/** To compare with. */
export const attack: Attack = {
  name: "nothing",
  run: async (_, signal) => {
    if (!signal.aborted) await once(signal, "abort");
  },
};
