import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";
import type { FloorQuestion } from "./floor.ts";

/**
 * The least that Node.js takes for a request: a socket, one write, the answer read to its end. No client, no schedule,
 * no judgement, no metrics.
 */

const REQUEST_HEADERS = "accept: application/json\r\nauthorization: Bearer test-key-bench\r\n";

let asked = 0;

process.on("message", (question: FloorQuestion) => {
  if (question !== "asked") start(question);
  process.send?.(asked);
});
process.once("disconnect", () => process.exit());

function start({ url, connection, caFile, perSecond, upstreams }: Exclude<FloorQuestion, string>): void {
  const { protocol, hostname, host, port } = new URL(url);
  const secureContext = createSecureContext({ ca: readFileSync(caFile) });
  const isKept = connection === "reuse";
  const last = isKept ? "keep-alive" : "close";
  const request = `GET /v1/resources HTTP/1.1\r\nhost: ${host}\r\nconnection: ${last}\r\n${REQUEST_HEADERS}\r\n`;
  const kept: (Socket | undefined)[] = [];
  const open = (): Socket => {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true).on("error", () => undefined);
    if (protocol === "http:") return socket;
    return connectTls({ socket, host: hostname, secureContext }).on("error", () => undefined);
  };
  const ask = (upstream: number): void => {
    const before = kept[upstream];
    if (before !== undefined && !before.destroyed) return void before.write(request);
    const socket = open();
    if (isKept) kept[upstream] = socket;
    socket.resume();
    socket.write(request);
  };
  // Where a timer is late, what is due is made up for.
  const startMs = performance.now();
  setInterval(
    () => {
      const due = ((performance.now() - startMs) / 1_000) * perSecond;
      for (; asked < due; asked += 1) ask(asked % upstreams);
    },
    Math.max(1, 1_000 / perSecond),
  );
}
