import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { type HttpAnswer, textAnswer } from "../guards/guard.ts";
import { readRequest } from "../guards/http-request.ts";
import { withResponseHeaders } from "../routes/response-headers.ts";
import type { Routes } from "../routes/routes.ts";
import { SendingTurns } from "./sending-turns.ts";

type Limited = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

const BAD_REQUEST = withResponseHeaders(textAnswer("bad request\n", 400));

/** Puts the routes on a socket. `limited` is told when an answer begins: until then a client waits for us, not we for it. */
export function answerRequests(routes: Pick<Routes, "answer">, limited: Limited): RequestListener {
  const turns = new SendingTurns();
  return (incoming, outgoing) => void answerOne(routes, turns, incoming, outgoing, limited);
}

async function answerOne(
  routes: Pick<Routes, "answer">,
  turns: SendingTurns,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  limited: Limited,
): Promise<void> {
  const request = readRequest(incoming, outgoing);
  const answer = request === undefined ? BAD_REQUEST : await routes.answer(request);
  limited(incoming, outgoing);
  try {
    await send(answer, incoming.method === "HEAD", turns, outgoing);
  } catch {
    // What makes the answer says why. The client sees that it is cut short.
    outgoing.destroy();
  }
}

async function send(
  { status, headers, body }: HttpAnswer,
  headOnly: boolean,
  turns: SendingTurns,
  outgoing: ServerResponse,
): Promise<void> {
  if (outgoing.destroyed) return;
  if (body === undefined || typeof body === "string") {
    const length = { "content-length": String(Buffer.byteLength(body ?? "")) };
    outgoing.writeHead(status, { ...headers, ...length }).end(headOnly ? undefined : body);
    return;
  }
  outgoing.writeHead(status, headers);
  if (headOnly) return void outgoing.end();
  await pipeline(inTurns(body, turns), outgoing);
}

/** No part is taken before the client can take it, and before it is its turn. */
async function* inTurns(body: AsyncIterable<Uint8Array>, turns: SendingTurns): AsyncGenerator<Uint8Array> {
  await turns.next();
  for await (const part of body) {
    yield part;
    await turns.next();
  }
}
