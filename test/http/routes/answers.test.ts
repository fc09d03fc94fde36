import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { GzipParts } from "../../../src/adapters/gzip-parts.ts";
import { AnswerRoom, Answers, type Bytes } from "../../../src/http/routes/answers.ts";
import { answerRequests } from "../../../src/http/server/answer-requests.ts";
import { aRequest, connectRaw, statusOf } from "../raw-client.ts";

test("an answer whose only reader leaves in the middle of it is given up, and others are served", async () => {
  const answers = new Answers({
    room: new AnswerRoom(1_000_000),
    gzip: () => new GzipParts(),
    maxWaiting: 10,
    rests: false,
  });
  const left = Promise.withResolvers<void>();
  /** Its second part comes when nobody is there any more. */
  const slow = (): Bytes =>
    new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(200_000)),
      async pull(controller) {
        await left.promise;
        controller.enqueue(new Uint8Array(200_000));
      },
    });
  const content = (path: string): string | Bytes => (path === "/slow" ? slow() : "short");
  const server = createServer(
    answerRequests({
      answer: (request) => {
        request.outgoing?.once("close", () => left.resolve());
        const { path } = request;
        return answers.serve(request, path, async () => ({
          status: 200,
          type: "text/plain",
          content: content(path),
        }));
      },
    }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const client = await connectRaw(url);
  client.send(aRequest("/slow"));
  await client.until(/200 OK/);
  client.socket.resetAndDestroy();
  await left.promise;
  await using other = await connectRaw(url);
  other.send(aRequest("/short", ["Connection: close"]));
  expect(statusOf(await other.ended)).toBe(200);
});
