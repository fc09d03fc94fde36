import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { type HttpAnswer, textAnswer, type HttpRequest } from "../guards/guard.ts";
import { withResponseHeaders } from "../routes/response-headers.ts";
import type { Routes } from "../routes/routes.ts";
import { setImmediate as nextEventLoopTurn } from "node:timers/promises";
import { percentDecoded } from "../../kernel/text/percent.ts";

type Limited = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

const BAD_REQUEST = withResponseHeaders(textAnswer("bad request\n", 400));

/** Puts the routes on a socket. `limited` is told when an answer begins: until then a client waits for us, not we for it. */
export function answerRequests(routes: Pick<Routes, "answer">, limited: Limited): RequestListener {
  const turns = { beginning: new SharedTurns(), sending: new SharedTurns() };
  return (incoming, outgoing) => void answerOne(routes, turns, incoming, outgoing, limited);
}

async function answerOne(
  routes: Pick<Routes, "answer">,
  turns: { readonly beginning: SharedTurns; readonly sending: SharedTurns },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  limited: Limited,
): Promise<void> {
  await turns.beginning.next();
  const request = readRequest(incoming, outgoing);
  const answer = request === undefined ? BAD_REQUEST : await routes.answer(request);
  limited(incoming, outgoing);
  try {
    await send(answer, incoming.method === "HEAD", turns.sending, outgoing);
  } catch {
    // What makes the answer says why. The client sees that it is cut short.
    outgoing.destroy();
  }
}

async function send(
  { status, headers, body }: HttpAnswer,
  headOnly: boolean,
  turns: SharedTurns,
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
async function* inTurns(body: AsyncIterable<Uint8Array>, turns: SharedTurns): AsyncGenerator<Uint8Array> {
  await turns.next();
  for await (const part of body) {
    yield part;
    await turns.next();
  }
}

/** After so long, polls, probes and other clients come in between. */
const TURN_MS = 5;

/**
 * Hundreds of requests come at once, and hundreds of readers of a large answer take its parts as fast as they are sent:
 * together they would keep the event loop for seconds. So they take turns, one request or one part each.
 */
class SharedTurns {
  /** The longest waiting first. */
  readonly #waiting: (() => void)[] = [];
  #isWorking = false;

  /** Resolves when the next request may be answered, or the next part taken and sent. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isWorking) void this.#work();
    return promise;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    while (this.#waiting.length > 0) {
      await nextEventLoopTurn();
      const beganMs = performance.now();
      do {
        this.#waiting.shift()?.();
        await promisesSettled();
      } while (this.#waiting.length > 0 && performance.now() - beganMs < TURN_MS);
    }
    this.#isWorking = false;
  }
}

/** By then, who may send has sent. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** A name or an address, with or without a port: nothing that would begin another part of a URL. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[^\s/?#@\\:[\]]+)(?::\d{0,5})?$/i;

/** Undefined for what is not a valid request: the target or Host cannot be part of a URL. */
function readRequest(incoming: IncomingMessage, outgoing: ServerResponse): HttpRequest | undefined {
  const { method = "GET", headersDistinct } = incoming;
  const url = urlOf(incoming);
  if (url === null) return undefined;
  return {
    method,
    url,
    path: pathOf(url),
    header: (name) => headersDistinct[name]?.join(", "),
    incoming,
    outgoing,
  };
}

function urlOf({ url: target = "/", headers }: IncomingMessage): URL | null {
  // HTTP/1.0 needs no Host, and the health checks of some load balancers send none.
  const { host = "localhost" } = headers;
  // Browsers, and URL, take one for a slash.
  if (!HOST.test(host) || target.split("?", 1)[0]?.includes("\\") === true) return null;
  if (target.startsWith("/")) return URL.parse(`http://${host}${target}`);
  return /^https?:\/\//.test(target) ? URL.parse(target) : null;
}

export function pathOf({ pathname }: URL): string {
  // What is decoded once stays as it is.
  return percentDecoded(pathname.replaceAll("%25", "%2525"), decodeURI);
}
