import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

export const attack: Attack = {
  name: "1,000 connections that ask for nothing that there is, and come again",
  run: (target, signal) =>
    crowd(target, signal, 1_000, (socket) => {
      socket.resume().write(requestFor("/nowhere", ["Connection: close"]));
    }),
};
