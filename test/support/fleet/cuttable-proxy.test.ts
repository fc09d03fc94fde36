import { once } from "node:events";
import { type Socket, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { openProxy } from "./cuttable-proxy.ts";

/** Says back what it hears. */
async function openEcho(): Promise<{ port: number; heard: () => string } & AsyncDisposable> {
  let heard = "";
  const server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      heard += chunk.toString();
      socket.write(chunk);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    heard: () => heard,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

function client(port: number): { socket: Socket; received: () => string } {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => void (received += chunk.toString()));
  return { socket, received: () => received };
}

test("what is delayed arrives later, and what comes after it stays behind it", async () => {
  await using echo = await openEcho();
  await using proxy = await openProxy(echo.port);
  const { socket, received } = client(proxy.port);
  const beganAtMs = performance.now();
  proxy.delay(() => 100);
  socket.write("a");
  await eventually("the first is heard", () => echo.heard() === "a");
  expect(performance.now() - beganAtMs).toBeGreaterThanOrEqual(99);
  socket.write("b");
  proxy.delay(() => 0);
  await eventually("both echoes are back", () => received() === "ab");
  expect(echo.heard()).toBe("ab");
  socket.destroy();
});
