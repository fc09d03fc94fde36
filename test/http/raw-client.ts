import { connect, type Socket } from "node:net";

export type RawClient = AsyncDisposable & {
  readonly socket: Socket;
  send(text: string): void;
  /** All that came so far. */
  received(): string;
  /** Resolves when the pattern came, or the connection is over. */
  until(pattern: RegExp): Promise<string>;
  readonly ended: Promise<string>;
};

/** Speaks exactly what it is told, as no well-behaved client would. */
export async function connectRaw(
  url: string,
  from: { readonly localAddress?: string } = {},
): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...from });
  let text = "";
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => (text += String(chunk)));
  socket.on("error", () => {});
  socket.on("close", () => end(text));
  const connected = Promise.withResolvers<void>();
  socket.once("connect", () => connected.resolve());
  socket.once("close", () => connected.resolve());
  await connected.promise;

  const until = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text) && !socket.closed) {
      const more = Promise.withResolvers<void>();
      socket.once("data", () => more.resolve());
      await Promise.race([more.promise, ended]);
    }
    return text;
  };
  return {
    socket,
    send: (request) => socket.write(request),
    received: () => text,
    until,
    ended,
    [Symbol.asyncDispose]: async () => {
      socket.destroy();
      await ended;
    },
  };
}

/** A request as most of these tests send it. */
export function aRequest(path: string, headers: readonly string[] = []): string {
  return [`GET ${path} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n");
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
}
