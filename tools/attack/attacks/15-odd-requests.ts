import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

const PATHS = ["/metrics", "/", "/api/v1/upstreams", "/api/v1/config"];

/** Each by turns, with a body that is not read: what a server made for usual clients may answer without a bound. */
const ODD: readonly ((path: string) => string)[] = [
  (path) => `GET ${path} HTTP/1.0\r\n\r\n`,
  (path) => requestFor(path).replace("GET", "HEAD").repeat(16),
  (path) => requestFor(path, ["Connection: close"]),
  (path) => requestFor(path, ["Expect: nothing"]).repeat(16),
  (path) =>
    requestFor(path, ["Range: bytes=0-1", "If-None-Match: *", "TE: trailers", "Expect: 100-continue"]),
];

export const attack: Attack = {
  name: "250 connections of HTTP/1.0, HEAD, conditions and half-closed sockets, which read nothing",
  run: async (target, signal) => {
    let count = 0;
    await crowd(target, signal, 250, (socket) => {
      count += 1;
      const request =
        ODD[count % ODD.length]?.(PATHS[Math.floor(count / ODD.length) % PATHS.length] ?? "/") ?? "";
      if (count % 3 === 0) socket.end(request);
      else socket.write(request);
    });
  },
};
