import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type HttpAnswer, textAnswer } from "../guards/guard.ts";
import { readRequest } from "../guards/http-request.ts";
import { withResponseHeaders } from "../routes/response-headers.ts";
import type { Routes } from "../routes/routes.ts";
import { SendingTurns } from "./sending-turns.ts";

const BAD_REQUEST = withResponseHeaders(textAnswer("bad request\n", 400));

/** Puts the routes on a socket. */
export function answerRequests(routes: Pick<Routes, "answer">): RequestListener {
  const turns = new SendingTurns();
  return (incoming, outgoing) => void answerOne(routes, turns, incoming, outgoing);
}

async function answerOne(
  routes: Pick<Routes, "answer">,
  turns: SendingTurns,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = readRequest(incoming, outgoing);
  const answer = request === undefined ? BAD_REQUEST : await routes.answer(request);
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
  if (!headOnly) {
    await turns.next();
    for await (const part of body) {
      // No part is taken before the client can take it.
      if (!outgoing.write(part)) await drained(outgoing);
      if (outgoing.destroyed) return;
      await turns.next();
    }
  }
  outgoing.end();
}

/** Or the client has gone. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      outgoing.off("drain", settle).off("close", settle);
      resolve();
    };
    if (outgoing.destroyed) resolve();
    else outgoing.on("drain", settle).on("close", settle);
  });
}
