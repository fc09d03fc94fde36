import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

export const attack: Attack = {
  name: "thousands of requests on each connection, without waiting for answers",
  run: (target, signal) =>
    crowd(target, signal, 5, (socket) => {
      socket.write(requestFor("/metrics").repeat(1_000));
    }),
};
