import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Prober } from "../../tools/attack/prober.ts";
import { eventually } from "../support/eventually.ts";
import { ask } from "../support/http-ask.ts";

const HALF_AN_ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it";

async function serve(behave: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    behave(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/-/healthy`;
}

const RESETS: readonly (readonly [string, (socket: Socket) => void])[] = [
  ["at once", (socket) => socket.resetAndDestroy()],
  ["after the request", (socket) => socket.once("data", () => socket.resetAndDestroy())],
  [
    "within the answer",
    (socket) =>
      socket.once("data", () =>
        socket.write(HALF_AN_ANSWER, () => setTimeout(() => socket.resetAndDestroy(), 50)),
      ),
  ],
  ["after what is no HTTP", (socket) => socket.write("no HTTP\r\n\r\n", () => socket.resetAndDestroy())],
];

test.each(RESETS)("a probe that is reset %s has failed, and the next one is sent", async (_, behave) => {
  await using prober = new Prober(await serve(behave));
  let failed = 0;
  const failures = await eventually(
    "two have failed",
    async () => (failed += (await prober.tell()).failed),
    (seen) => seen >= 2,
  );
  expect(failures).toBeGreaterThanOrEqual(2);
});

test.each(RESETS)("a request that is reset %s is rejected, and no more", async (_, behave) => {
  await expect(serve(behave).then((url) => ask(url))).rejects.toThrow(
    /ECONNRESET|socket hang up|aborted|Parse Error/,
  );
});
