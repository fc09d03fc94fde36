import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { Answers } from "../../../src/http/routes/answers.ts";
import { Readers } from "../../../src/http/routes/readers.ts";
import type { Routes } from "../../../src/http/routes/routes.ts";
import { Turns } from "../../../src/http/routes/turns.ts";
import { answerRequests } from "../../../src/http/server/answer-requests.ts";
import { stopTime } from "../../support/virtual/stopped-time.ts";
import { aRequest, connectRaw, statusOf } from "../raw-client.ts";

async function serve(answerTo: Routes["answer"]): Promise<string> {
  const server = createServer(answerRequests({ answer: answerTo }, () => {})).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function answersOf(): Answers {
  const room = { limitBytes: 1_000_000, takenBytes: 0 };
  return new Answers({ room, readers: new Readers(), maxWaiting: 10, rests: false });
}

test("an answer that two share is whole for the second one, though the first leaves while it is made", async () => {
  const answers = answersOf();
  const bothWait = Promise.withResolvers<void>();
  const leaves = new AbortController();
  let readers = 0;
  const url = await serve(async (request) => {
    request.outgoing.once("close", () => leaves.abort());
    const answer = answers.serve(request, "shared", async () => {
      await bothWait.promise;
      return { status: 200, type: "text/plain", pieces: parts() };
    });
    if ((readers += 1) === 2) bothWait.resolve();
    return answer;
  });
  function* parts(): Generator<string | undefined> {
    yield "a".repeat(200_000);
    while (!leaves.signal.aborted) yield undefined;
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
        pieces: [text.slice(0, 10), undefined, text.slice(10)],
      })),
    );
    expect(await (await fetch(url)).text()).toBe(text);
  },
);

test("an answer whose only reader leaves while it is made is given up, and others are served", async () => {
  const answers = answersOf();
  const begun = Promise.withResolvers<void>();
  const leaves = new AbortController();
  const left = once(leaves.signal, "abort");
  let wasAskedForMore = false;
  function* slow(): Generator<Uint8Array | undefined> {
    yield new Uint8Array(200_000);
    begun.resolve();
    while (!leaves.signal.aborted) yield undefined;
    yield new Uint8Array(400_000);
    wasAskedForMore = true;
  }
  const url = await serve((request) => {
    request.outgoing.once("close", () => leaves.abort());
    const { path } = request;
    const pieces = path === "/slow" ? slow() : ["short"];
    return answers.serve(request, path, () => ({ status: 200, type: "text/plain", pieces }));
  });

  const client = await connectRaw(url);
  client.send(aRequest("/slow"));
  await begun.promise;
  client.socket.resetAndDestroy();
  await left;
  await using other = await connectRaw(url);
  other.send(aRequest("/short", ["Connection: close"]));
  expect(statusOf(await other.ended)).toBe(200);
  expect(wasAskedForMore).toBe(false);
});

test("an answer of many parts gives up its turn only after a while, as each turn of a busy process is long", async () => {
  stopTime();
  const pauses = vi.spyOn(Turns.prototype, "pause");
  onTestFinished(() => pauses.mockRestore());
  const url = await serve((request) =>
    answersOf().serve(request, "large", () => ({
      status: 200,
      type: "text/plain",
      pieces: ["a".repeat(500_000)],
    })),
  );
  await using client = await connectRaw(url);
  client.send(aRequest("/", ["Connection: close"]));
  expect(await client.ended).toMatch(/a{500000}$/);
  expect(pauses).not.toHaveBeenCalled();
});

test("of a large piece, what is left is not copied for each part that is taken", async () => {
  let copies = 0;
  const bytes = Object.assign(new Uint8Array(1_000_000), { slice: () => (copies += 1) });
  const url = await serve((request) =>
    answersOf().serve(request, "large", () => ({ status: 200, type: "application/x", pieces: [bytes] })),
  );
  expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(1_000_000);
  expect(copies).toBe(0);
});

test.each([1, 131_071, 131_072, 131_073, 400_000])(
  "%i bytes are the same in every coding, with their length told",
  async (length) => {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 7919) % 251);
    const answers = answersOf();
    const url = await serve((request) =>
      answers.serve(request, "bytes", () => ({ status: 200, type: "application/x", pieces: [bytes] })),
    );
    const decoders = { identity: (body: Buffer) => body, gzip: gunzipSync, zstd: zstdDecompressSync };
    for (const [coding, decode] of Object.entries(decoders)) {
      const [answer]: IncomingMessage[] = await once(
        get(url, { headers: { "Accept-Encoding": coding } }),
        "response",
      );
      const body = Buffer.concat(await Array.fromAsync(answer ?? []));
      expect(answer?.headers["content-encoding"]).toBe(coding === "identity" ? undefined : coding);
      expect(Number(answer?.headers["content-length"])).toBe(body.length);
      expect(Buffer.compare(decode(body), bytes), `in ${coding}`).toBe(0);
    }
  },
);
