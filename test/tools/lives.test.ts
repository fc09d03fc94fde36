import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { CountingUpstream } from "../../tools/lives/upstream.ts";

async function connected(url: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
}

/** All that it answers. The connection stays half open. */
async function ask(socket: Socket): Promise<string> {
  const ended = once(socket, "end");
  let answer = "";
  socket.setEncoding("latin1").on("data", (piece) => (answer += String(piece)));
  socket.write("GET /paused/v1/resources HTTP/1.1\r\nHost: a\r\n\r\n");
  await ended;
  return answer;
}

test("a request that had connected before its client knew of a pause is excused, and a later one is not", async () => {
  await using upstream = new CountingUpstream(() => 0);
  const url = await upstream.open();
  const told = await connected(url);
  const before = await connected(url);
  expect(await ask(told)).toContain("Retry-After: 2");
  told.end();
  await once(told, "close");
  await ask(before);
  expect(upstream.broken).toEqual([]);
  before.destroy();
  await ask(await connected(url));
  expect(upstream.broken).toEqual([expect.stringContaining("after it knew of a pause")]);
});
