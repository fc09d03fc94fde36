import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

export const attack: Attack = {
  name: "400 connections that ask for a different page each",
  run: async (target, signal) => {
    let count = 0;
    await crowd(target, signal, 400, (socket) => {
      count += 1;
      const name = target.upstreams[count % target.upstreams.length] ?? "";
      const path = count % 2 === 0 ? `/upstreams/${name}?n=${count}` : `/api/v1/upstreams/${name}`;
      socket.resume().write(requestFor(path, ["Connection: close"]));
    });
  },
};
