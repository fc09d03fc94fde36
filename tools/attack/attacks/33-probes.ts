import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

/** Half of them say nothing, and come again when they are closed. */
export const attack: Attack = {
  name: "1,000 connections at `probe_listen`",
  run: (target, signal) => {
    let count = 0;
    return crowd({ ...target, url: target.probesUrl }, signal, 1_000, (socket) => {
      count += 1;
      if (count % 2 === 0) socket.write(requestFor("/-/healthy"));
    });
  },
};
