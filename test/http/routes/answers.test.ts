import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { GzipParts } from "../../../src/adapters/gzip-parts.ts";
import { Answers, type Content } from "../../../src/http/routes/answers.ts";
import type { Routes } from "../../../src/http/routes/routes.ts";
import { answerRequests } from "../../../src/http/server/answer-requests.ts";
import { aRequest, connectRaw, statusOf } from "../raw-client.ts";

async function serve(answerTo: Routes["answer"]): Promise<string> {
  const server = createServer(answerRequests({ answer: answerTo })).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function answersOf(): Answers {
  const room = { limitBytes: 1_000_000, takenBytes: 0 };
  return new Answers({ room, gzip: () => new GzipParts(), maxWaiting: 10, rests: false });
}

test("an answer that two share is whole for the second one, though the first leaves while it is made", async () => {
  const answers = answersOf();
  const bothWait = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  let readers = 0;
  const url = await serve(async (request) => {
    request.outgoing.once("close", () => left.resolve());
    const answer = answers.serve(request, "shared", async () => {
      await bothWait.promise;
      return { status: 200, type: "text/plain", content: { pieces: parts() } };
    });
    if ((readers += 1) === 2) bothWait.resolve();
    return answer;
  });
  async function* parts(): AsyncGenerator<string> {
    yield "a".repeat(200_000);
    await left.promise;
    yield "the end";
  }
  const first = await connectRaw(url);
  await using second = await connectRaw(url);
  second.send(aRequest("/", ["Connection: close"]));
  first.send(aRequest("/"));
  await bothWait.promise;
  first.socket.resetAndDestroy();
  expect(await second.ended).toMatch(/a{200000}the end$/);
});

test.each([1, 2])(
  "a text whose characters take several bytes is whole where it is cut: from %i on",
  async (from) => {
    const text = "🐢é€".repeat(100_000).slice(from * 2);
    const url = await serve((request) =>
      answersOf().serve(request, "text", () => ({
        status: 200,
        type: "text/plain",
        content: { pieces: [text.slice(0, 10), undefined, text.slice(10)] },
      })),
    );
    expect(await (await fetch(url)).text()).toBe(text);
  },
);

test("an answer whose only reader leaves in the middle of it is given up, and others are served", async () => {
  const answers = answersOf();
  const left = Promise.withResolvers<void>();
  /** Its second part comes when nobody is there any more. */
  async function* slow(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield new Uint8Array(200_000);
    await left.promise;
    yield new Uint8Array(200_000);
  }
  const content = (path: string): Content => (path === "/slow" ? { gzipped: slow() } : { pieces: ["short"] });
  const url = await serve((request) => {
    request.outgoing.once("close", () => left.resolve());
    const { path } = request;
    return answers.serve(request, path, () => ({ status: 200, type: "text/plain", content: content(path) }));
  });

  const client = await connectRaw(url);
  client.send(aRequest("/slow"));
  await client.until(/200 OK/);
  client.socket.resetAndDestroy();
  await left.promise;
  await using other = await connectRaw(url);
  other.send(aRequest("/short", ["Connection: close"]));
  expect(statusOf(await other.ended)).toBe(200);
});
