import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

export const attack: Attack = {
  name: "200 scrapers that do not read",
  run: (target, signal) =>
    crowd(target, signal, 200, (socket) => {
      socket.write(requestFor("/metrics"));
    }),
};
