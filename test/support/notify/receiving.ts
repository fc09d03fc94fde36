import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";

export type Received = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** A receiver on this machine: keeps all that it is sent, and answers as it is told to. */
export class Receiving implements AsyncDisposable {
  readonly received: Received[] = [];
  /** Called once the request is here as a whole. */
  answer: (response: ServerResponse, request: Received) => void = (response) =>
    response.writeHead(200).end("ok");
  readonly #server = createServer((request, response) => void this.#take(request, response));
  #waiting: (() => void)[] = [];

  static async open(): Promise<Receiving> {
    const receiving = new Receiving();
    receiving.#server.listen(0, "127.0.0.1");
    await once(receiving.#server, "listening");
    return receiving;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Until so many have come. */
  async until(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.received;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = request;
    const received = { method, path, headers, body: Buffer.concat(chunks).toString("utf8") };
    this.received.push(received);
    this.answer(response, received);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
