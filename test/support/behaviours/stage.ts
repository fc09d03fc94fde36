import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { Worker } from "node:worker_threads";
import { freePort } from "../../../tools/stack/free-port.ts";
import { answer, openRawUpstream, type RawOptions, type Script } from "../raw-upstream.ts";

/** Where a behaviour is met: a server of ours, or a place where there is none. It counts for itself. */
export type Stage = {
  readonly url: string;
  /** Requests for `url` that were received whole, there and at every other place that it points to. */
  readonly requests: () => number;
  readonly open: () => number;
  /** Resolves when no connection is open. */
  readonly idle: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** A server that plays the script, byte for byte. */
export function serving(script: Script, options: RawOptions = {}): () => Promise<Stage> {
  return async () => {
    const upstream = await openRawUpstream(script, options);
    // Whoever polled the last owner of this port may still do so.
    const path = `/${randomUUID()}`;
    return {
      url: `${upstream.url}${path}`,
      requests: () => upstream.requests.filter((head) => head.startsWith(`GET ${path}/`)).length,
      open: () => upstream.open,
      idle: () => upstream.idle(),
      close: () => upstream.close(),
    };
  };
}

/** The same server under another scheme or name. */
export function asking(open: () => Promise<Stage>, rename: (url: string) => string): () => Promise<Stage> {
  return async () => {
    const stage = await open();
    return { ...stage, url: rename(stage.url) };
  };
}

/** An address that is nobody's. */
export function nowhere(url: string): () => Promise<Stage> {
  const nothing = { requests: () => 0, open: () => 0, idle: async () => {}, close: async () => {} };
  return async () => ({ url, ...nothing });
}

/** A port that nobody listens on. */
export async function refusing(): Promise<Stage> {
  return await nowhere(`http://127.0.0.1:${await freePort()}`)();
}

/** Sends whoever asks to another server, which would be glad to answer. What comes there counts as well. */
export function pointingElsewhere(status: string): () => Promise<Stage> {
  return async () => {
    const there = await serving(async (connection) => {
      await connection.request();
      connection.end(answer("{}"));
    })();
    const location = `Location: ${there.url.replace("127.0.0.1", "localhost")}/v1/resources`;
    const here = await serving(async (connection) => {
      await connection.request();
      connection.end(answer("", [location, "Connection: close"], status));
    })();
    return {
      url: here.url,
      requests: () => here.requests() + there.requests(),
      open: () => here.open() + there.open(),
      idle: async () => void (await Promise.all([here.idle(), there.idle()])),
      close: async () => void (await Promise.all([here.close(), there.close()])),
    };
  };
}

const FROZEN = `
  const { parentPort } = require("node:worker_threads");
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;
const CONNECTS_WITHIN_MS = 250;

/** It listens but accepts nothing, and its queue is full: what knocks now gets no answer from its kernel. */
export async function frozen(): Promise<Stage> {
  const worker = new Worker(FROZEN, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  const queue: Socket[] = [];
  for (let isFull = false; !isFull;) {
    const socket = connect({ host: "127.0.0.1", port }).on("error", () => {});
    queue.push(socket);
    const tooLate = AbortSignal.timeout(CONNECTS_WITHIN_MS);
    isFull = await once(socket, "connect", { signal: tooLate }).then(
      () => false,
      () => true,
    );
  }
  const stage = await nowhere(`http://127.0.0.1:${port}`)();
  return {
    ...stage,
    close: async () => {
      for (const socket of queue) socket.destroy();
      await worker.terminate();
    },
  };
}
