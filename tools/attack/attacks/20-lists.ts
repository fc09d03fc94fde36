import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

export const attack: Attack = {
  name: "400 connections that ask for the list of all upstreams",
  run: (target, signal) =>
    crowd(target, signal, 400, (socket) => {
      socket.resume().write(requestFor("/api/v1/upstreams", ["Connection: close"]));
    }),
};
