import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

const PATHS = ["/metrics", "/", "/?refresh=off", "/api/v1/upstreams", "/api/v1/config", "/api/v1/incidents"];

export const attack: Attack = {
  name: "250 connections that ask for everything and read nothing",
  run: async (target, signal) => {
    let count = 0;
    await crowd(target, signal, 250, (socket) => {
      count += 1;
      const headers = count % 2 === 0 ? ["Accept-Encoding: gzip"] : [];
      for (let index = 0; index < PATHS.length; index += 1)
        socket.write(requestFor(PATHS[(count + index) % PATHS.length] ?? "/", headers));
    });
  },
};
