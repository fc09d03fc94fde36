import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import type { ClockAnswer, ClockQuestion, Served } from "./clock-upstream.ts";

/** Bare sockets: the less there is between the kernel and the clock, the truer the clock. */

const WAIT_MS = 5;
const HOSTS = 50;
const BODY = JSON.stringify({ resources: [] });
const ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n${BODY}`,
);

let served: Served[] = [];

const servers = Array.from({ length: HOSTS }, () =>
  createServer({ noDelay: true, allowHalfOpen: true }, take).listen({
    port: 0,
    host: "127.0.0.1",
    backlog: 4_096,
  }),
);
await Promise.all(servers.map((server) => once(server, "listening")));
const ports = servers.map((server) => {
  const address = server.address();
  return address === null || typeof address === "string" ? 0 : address.port;
});
process.on("message", (question: ClockQuestion) => {
  const answer: ClockAnswer = { ports, served: question === "served" ? served : [] };
  served = [];
  process.send?.(answer);
});
process.once("disconnect", () => process.exit());

function take(socket: Socket): void {
  const takenMs = performance.now();
  let head = "";
  socket.setEncoding("latin1");
  // A client that is ended while it waits resets its connections.
  socket.on("error", () => socket.destroy());
  socket.on("data", (piece) => {
    head += String(piece);
    if (!head.endsWith("\r\n\r\n")) return;
    setTimeout(() => answer(socket, head.split(" ", 2)[1] ?? "", takenMs), WAIT_MS);
  });
}

function answer(socket: Socket, path: string, takenMs: number): void {
  socket.end(ANSWER);
  served.push({
    path,
    atMs: performance.timeOrigin + takenMs,
    durationMs: performance.now() - takenMs,
  });
}
