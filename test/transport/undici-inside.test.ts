import { connect, type Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { ANSWER_READ } from "../../src/transport/faults.ts";
import { answer, type RawUpstream } from "../support/raw-upstream.ts";
import { pollOnce, startUpstream } from "./polling.ts";

/** What the adapter relies on although undici does not document it. After an update of undici, look here first. */

test("a client whose socket we end after an answer sends the next request anew", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("{}"));
  });
  const { client, sockets } = openClient(upstream);
  for (let request = 0; request < 3; request += 1) {
    await new Promise<void>((resolve, reject) => {
      dispatch(client, {
        onResponseEnd: () =>
          void sockets
            .at(-1)
            ?.once("close", () => resolve())
            .destroy(ANSWER_READ),
        onResponseError: (_controller, error) => reject(error),
      });
    });
  }
  expect(upstream.requests).toHaveLength(3);
  expect(upstream.connections).toBe(3);
});

test("an error after a poll has its stack: only undici's own, as a connection ends, has none", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("{}"));
  });
  const { stackTraceLimit } = Error;
  await pollOnce(upstream);
  expect(upstream.requests).toHaveLength(1);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  expect(stackTraceLimit).toBeGreaterThan(0);
});

test("a request can still be withdrawn when undici starts it: nothing is written", async () => {
  const upstream = await startUpstream(async (connection) => void (await connection.request()));
  const { client } = openClient(upstream);
  const reason = new Error("withdrawn");
  const error = await new Promise<Error>((resolve) => {
    dispatch(client, {
      onRequestStart: (controller) => controller.abort(reason),
      onResponseError: (_controller, failure) => resolve(failure),
    });
  });
  expect(error).toBe(reason);
  await client.destroy();
  await upstream.idle();
  expect(upstream.requests).toEqual([]);
});

test("headers come raw, as a list of names and values", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("{}", ["X-One: 1", "x-one: 2"]));
  });
  const { client } = openClient(upstream);
  const raw = await new Promise<unknown>((resolve, reject) => {
    dispatch(client, {
      onResponseStart: (controller) => resolve(controller.rawHeaders),
      onResponseError: (_controller, error) => reject(error),
    });
  });
  expect((Array.isArray(raw) ? raw : []).map(String)).toEqual([
    "Content-Length",
    "2",
    "X-One",
    "1",
    "x-one",
    "2",
  ]);
});

test("what it tells of is a part of what its socket read, which others can hear of before", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("{}", ["X-One: 1"]));
  });
  const { client, sockets } = openClient(upstream);
  const heard: Buffer[] = [];
  const told = await new Promise<readonly unknown[]>((resolve, reject) => {
    const pieces: unknown[] = [];
    dispatch(client, {
      onRequestStart: () => void sockets.at(-1)?.on("data", (read: Buffer) => heard.push(read)),
      onResponseStart: ({ rawHeaders }) => pieces.push(...(Array.isArray(rawHeaders) ? rawHeaders : [])),
      onResponseData: (_controller, piece) => pieces.push(piece),
      onResponseEnd: () => resolve(pieces),
      onResponseError: (_controller, error) => reject(error),
    });
  });
  expect(told).toHaveLength(5);
  const buffers = new Set(told.map((piece) => (Buffer.isBuffer(piece) ? piece.buffer : undefined)));
  expect([...buffers]).toEqual([heard[0]?.buffer]);
});

test("an error of the parser is named HTTPParserError, and ends with its reason in parentheses", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write("* OK IMAP4 ready\r\n\r\n");
  });
  const { client } = openClient(upstream);
  const error = await new Promise<Error>((resolve) => {
    dispatch(client, { onResponseError: (_controller, failure) => resolve(failure) });
  });
  expect(error.name).toBe("HTTPParserError");
  expect(error.message).toMatch(/\([^()]+\)$/);
});

function openClient({ url, port }: RawUpstream): { client: Client; sockets: Socket[] } {
  const sockets: Socket[] = [];
  const client = new Client(url, {
    allowH2: false,
    connect: (_options, callback) => {
      const socket = connect(port, "127.0.0.1", () => callback(null, socket));
      sockets.push(socket.on("error", () => {}));
    },
  });
  onTestFinished(() => client.destroy());
  return { client, sockets };
}

function dispatch(client: Client, handler: Dispatcher.DispatchHandler): void {
  const complete = { onRequestStart() {}, onResponseStart() {}, onResponseData() {}, onResponseEnd() {} };
  client.dispatch({ method: "GET", path: "/", reset: true }, { ...complete, ...handler });
}
