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

/** Handed to the kernel. */
function sent(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve) => void socket.write(text, () => resolve()));
}

/** Whatever the reason. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

test("what is dropped is silence, and arrives late when the way is mended: also from who has left meanwhile", async () => {
  await using echo = await openEcho();
  await using proxy = await openProxy(echo.port);
  const before = client(proxy.port);
  before.socket.write("a");
  await eventually("the echo is back", before.received, (received) => received === "a");

  proxy.cut("drop");
  await sent(before.socket, "b");
  const during = client(proxy.port);
  await once(during.socket, "connect");
  await sent(during.socket, "c");
  during.socket.end();
  await eventually("both have a connection to the proxy", () => proxy.openConnections === 2);
  // What is sent later on a way that is not cut arrives, and is answered, time and again.
  await using open = await openProxy(echo.port);
  const later = client(open.port);
  for (let turn = 1; turn <= 10; turn += 1) {
    await sent(later.socket, ".");
    await eventually("the later echo is back", () => later.received().length === turn);
  }
  expect(echo.heard()).toBe("a..........");
  expect(before.received()).toBe("a");

  proxy.mend();
  await eventually(
    "what was held back has arrived",
    () => [before.received(), echo.heard()].join(),
    (received) => received === "ab,a..........bc",
  );
  for (const { socket } of [before, during, later]) socket.destroy();
});

test("what is reset is thrown out, and so is everybody who comes, until the way is mended", async () => {
  await using echo = await openEcho();
  await using proxy = await openProxy(echo.port);
  const before = client(proxy.port);
  before.socket.write("a");
  await eventually("the echo is back", before.received, (received) => received === "a");

  const thrownOut = closed(before.socket);
  proxy.cut("reset");
  await thrownOut;
  const during = client(proxy.port);
  during.socket.write("b");
  await closed(during.socket);
  expect(echo.heard()).toBe("a");

  proxy.mend();
  const after = client(proxy.port);
  after.socket.write("c");
  await eventually("the echo is back", after.received, (received) => received === "c");
  expect(proxy.openConnections).toBe(1);
  after.socket.destroy();
});

test("what is delayed arrives later, and what comes after it stays behind it", async () => {
  await using echo = await openEcho();
  await using proxy = await openProxy(echo.port);
  const { socket, received } = client(proxy.port);
  const beganAtMs = performance.now();
  proxy.delay(100);
  socket.write("a");
  await eventually("the first is heard", () => echo.heard() === "a");
  expect(performance.now() - beganAtMs).toBeGreaterThanOrEqual(99);
  socket.write("b");
  proxy.delay(0);
  await eventually("both echoes are back", () => received() === "ab");
  expect(echo.heard()).toBe("ab");
  socket.destroy();
});
