import { once } from "node:events";
import { type Server, type Socket, createServer } from "node:net";
import { type TlsOptions, createServer as createTlsServer } from "node:tls";

/** A server that knows no HTTP: each connection plays its script, byte for byte. It counts for itself. */

export type RawConnection = {
  readonly socket: Socket;
  /** From 0, in the order of arrival. */
  readonly index: number;
  /** The head of the next request; undefined when the client has gone first. */
  request(): Promise<string | undefined>;
  write(bytes: string | Uint8Array): void;
  end(bytes?: string | Uint8Array): void;
  /** RST instead of FIN; without TLS only. */
  reset(): void;
  /** Resolves when the client has closed. */
  readonly closed: Promise<void>;
};

export type Script = (connection: RawConnection) => void | Promise<void>;

export type RawUpstream = {
  readonly url: string;
  readonly port: number;
  /** Connections so far, connections open now, and request heads that were received whole. */
  readonly connections: number;
  readonly open: number;
  readonly requests: readonly string[];
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
  close(): Promise<void>;
};

export type RawOptions = {
  readonly tls?: TlsOptions;
  /** The host in `url`. */
  readonly host?: string;
  /** Hears of every head in place of `requests`, which would keep them all. */
  readonly onRequest?: (head: string) => void;
};

export function answer(body: string, headers: readonly string[] = [], status = "200 OK"): string {
  const lines = [`HTTP/1.1 ${status}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

export async function openRawUpstream(script: Script, options: RawOptions = {}): Promise<RawUpstream> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let connections = 0;

  function track(socket: Socket): void {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0) for (const resolve of waiting.splice(0)) resolve();
    });
  }

  async function play(socket: Socket, index: number): Promise<void> {
    socket.on("error", () => {});
    const connection = converse(socket, index, options.onRequest ?? ((head) => requests.push(head)));
    await script(connection);
  }

  let served = 0;
  function serve(socket: Socket): void {
    served += 1;
    void play(socket, served - 1);
  }

  const server: Server =
    options.tls === undefined
      ? createServer((socket) => {
          track(socket);
          serve(socket);
        })
      : createTlsServer(options.tls, serve).on("connection", track);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const scheme = options.tls === undefined ? "http" : "https";

  return {
    url: `${scheme}://${options.host ?? "127.0.0.1"}:${port}`,
    port,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    requests,
    async idle() {
      if (sockets.size > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, "close");
    },
  };
}

function converse(socket: Socket, index: number, count: (head: string) => void): RawConnection {
  const heads: string[] = [];
  const askers: ((head: string | undefined) => void)[] = [];
  let received = "";
  let gone = false;
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>();
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
    for (let end = received.indexOf("\r\n\r\n"); end >= 0; end = received.indexOf("\r\n\r\n")) {
      const head = received.slice(0, end);
      received = received.slice(end + 4);
      count(head);
      const asker = askers.shift();
      if (asker === undefined) heads.push(head);
      else asker(head);
    }
  });
  socket.once("close", () => {
    gone = true;
    for (const asker of askers.splice(0)) asker(undefined);
    resolveClosed();
  });
  return {
    socket,
    index,
    closed,
    request: () =>
      heads.length > 0 || gone
        ? Promise.resolve(heads.shift())
        : new Promise<string | undefined>((resolve) => askers.push(resolve)),
    write: (bytes) => void socket.write(bytes),
    end: (bytes) => void (bytes === undefined ? socket.end() : socket.end(bytes)),
    reset: () => void socket.resetAndDestroy(),
  };
}
