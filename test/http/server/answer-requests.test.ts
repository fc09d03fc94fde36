import { opened } from "../../support/opened.ts";
import { once } from "node:events";
import { createServer, get, type Server } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { answerRequests } from "../../../src/http/server/answer-requests.ts";
import { listen } from "../../../src/http/server/node-server.ts";
import { eachTurnDuring } from "../../support/each-turn.ts";
import { stopTime } from "../../support/virtual/stopped-time.ts";

const READERS = 40;
const PARTS = 10;
const PART_MS = 1;

test("hundreds of readers of large answers leave turns of the event loop to others", async () => {
  const time = stopTime();
  let inThisTurn = 0;
  let most = 0;
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    for (let index = 0; index < PARTS; index += 1) {
      time.pass(PART_MS);
      most = Math.max(most, (inThisTurn += 1));
      yield Buffer.from("part");
    }
  };
  const { promise: allHaveAsked, resolve: begin } = Promise.withResolvers<void>();
  let readers = 0;
  const answer = answerRequests(
    {
      answer: async () => {
        if ((readers += 1) === READERS) begin();
        await allHaveAsked;
        return { status: 200, headers: {}, body: parts() };
      },
    },
    () => {},
  );
  const server = createServer(answer);
  const texts = await readByAll(server, () => (inThisTurn = 0));
  expect(new Set(texts)).toEqual(new Set(["part".repeat(PARTS)]));
  // A turn may last 5 ms, and two may come between two looks of this test.
  expect(most).toBeLessThanOrEqual(12);
});

test("hundreds of requests of which each takes long leave turns of the event loop to others", async () => {
  const time = stopTime();
  let inThisTurn = 0;
  let most = 0;
  const answer = answerRequests(
    {
      answer: async () => {
        time.pass(PART_MS);
        most = Math.max(most, (inThisTurn += 1));
        return { status: 200, headers: {}, body: "answer" };
      },
    },
    () => {},
  );
  const asked: Parameters<typeof answer>[] = [];
  const server = createServer((...request) => {
    // All at once, as those that one turn of the event loop reads.
    if (asked.push(request) === READERS) for (const each of asked) answer(...each);
  });
  const texts = await readByAll(server, () => (inThisTurn = 0));
  expect(new Set(texts)).toEqual(new Set(["answer"]));
  expect(most).toBeLessThanOrEqual(12);
});

/** What each reader of this server gets. */
async function readByAll(server: Server, onTurn: () => void): Promise<readonly string[]> {
  onTestFinished(() => void server.close());
  const port = opened(await listen(server, { host: "127.0.0.1", port: 0 }, "--listen"));
  const read = (): Promise<string> => textOf(`http://127.0.0.1:${port}/`);
  return await eachTurnDuring(() => Promise.all(Array.from({ length: READERS }, read)), onTurn);
}

async function textOf(url: string): Promise<string> {
  const asked = get(url, { agent: false });
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return text;
}
