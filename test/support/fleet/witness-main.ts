import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monotonicMs } from "./monotonic.ts";
import type { SeenRequest } from "./witness.ts";

// The other end of witness.ts. It goes with its parent.
const BODY = JSON.stringify({ resources: [] });
const slowestMs = Number(process.argv[2]);
const seen: (SeenRequest & { endedAtMs: number })[] = [];

/** `/BUDGET/UPSTREAM/…`, and who asks is in a header. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const atMs = monotonicMs();
  const [, budget = "", upstream = ""] = (request.url ?? "").split("/");
  const life = String(request.headers["x-replica"]);
  const entry = { budget, upstream, life, atMs, endedAtMs: Number.POSITIVE_INFINITY };
  seen.push(entry);
  response.once("close", () => void (entry.endedAtMs = monotonicMs()));
  setTimeout(() => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(BODY);
  }, Math.random() * slowestMs);
}

const server = createServer(answer);
await once(server.listen(0, "127.0.0.1"), "listening");
process.on("message", () => {
  // What is still open when somebody asks has not ended by then.
  const nowMs = monotonicMs();
  process.send?.(seen.map((entry) => ({ ...entry, endedAtMs: Math.min(entry.endedAtMs, nowMs) })));
});
process.on("disconnect", () => process.exit());
process.send?.((server.address() as AddressInfo).port);
