import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { PlainAnswer, PlainQuestion } from "./plain-upstream.ts";

const BODY = JSON.stringify({ resources: [{ id: "a", status: "available" }], next: null });
const HEAD = `HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sun, 22 Nov 2026 10:00:00 GMT\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`;
const KEEP = Buffer.from(`${HEAD}Connection: keep-alive\r\n\r\n${BODY}`);
const CLOSE = Buffer.from(`${HEAD}Connection: close\r\n\r\n${BODY}`);

process.on("message", (question: PlainQuestion) => void start(question));
process.once("disconnect", () => process.exit());

async function start({ certFile, keyFile }: PlainQuestion): Promise<void> {
  const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const answer: PlainAnswer = {
    httpPort: await portOf(createServer({ noDelay: true, allowHalfOpen: true }, serve)),
    httpsPort: await portOf(createTlsServer({ noDelay: true, ...pair }, serve)),
  };
  process.send?.(answer);
}

async function portOf(server: Server): Promise<number> {
  await once(server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }), "listening");
  const address = server.address();
  return address === null || typeof address === "string" ? 0 : address.port;
}

function serve(socket: Socket): void {
  let head = "";
  socket.setEncoding("latin1");
  socket.on("error", () => socket.destroy());
  socket.on("data", (piece) => {
    head += String(piece);
    if (!head.endsWith("\r\n\r\n")) return;
    const isLast = /\r\nconnection: close\r\n/i.test(head);
    head = "";
    if (isLast) socket.end(CLOSE);
    else socket.write(KEEP);
  });
}
