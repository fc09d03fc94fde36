import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

/** As many as are served, one scrape after the other. */
export const attack: Attack = {
  name: "40 scrapers that read, without gzip",
  run: (target, signal) =>
    crowd(target, signal, 40, (socket) => {
      socket.resume().write(requestFor("/metrics", ["Connection: close"]));
    }),
};
