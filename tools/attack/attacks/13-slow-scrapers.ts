import { setTimeout as sleep } from "node:timers/promises";
import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

export const attack: Attack = {
  name: "50 scrapers that read slowly",
  run: (target, signal) =>
    crowd(target, signal, 50, async (socket) => {
      socket.write(requestFor("/metrics").repeat(2));
      while (!socket.destroyed && !signal.aborted) {
        socket.read(512);
        await sleep(100);
      }
    }),
};
