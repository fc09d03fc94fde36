import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";

/** An HTTP server whose closing ends every connection, answered or not. */
export class Listener {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #url = "";

  constructor(onRequest: RequestListener) {
    // A request without a Host would be refused before anybody counts it.
    this.#server = createServer({ requireHostHeader: false }, onRequest);
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  get url(): string {
    return this.#url;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  async listen(host: string, port: number): Promise<void> {
    this.#server.listen(port, host);
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new TypeError("cannot tell the server's port");
    this.#url = `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
  }

  async close(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, "close") : undefined;
    this.#server.close();
    await Promise.all([closed, ...[...this.#sockets].map(end)]);
  }
}

function end(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
    socket.destroy();
  });
}
