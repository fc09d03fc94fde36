import { createServer } from "node:http";

/** The upstream of all polls, in a process of its own. It tells how long it was not asked, at most, since it was asked to tell. */
const BODY = JSON.stringify({ resources: [] });

let requests = 0;
let lastAtMs = performance.now();
let longestGapMs = 0;

function count(): void {
  const nowMs = performance.now();
  longestGapMs = Math.max(longestGapMs, nowMs - lastAtMs);
  lastAtMs = nowMs;
}

const server = createServer((_, response) => {
  requests += 1;
  count();
  response.writeHead(200, { "Content-Type": "application/json", Connection: "close" }).end(BODY);
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  process.on("message", tell);
  process.once("disconnect", () => process.exit());
  tell();
});

function tell(): void {
  count();
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.send?.({ port, requests, longestGapMs });
  longestGapMs = 0;
}
