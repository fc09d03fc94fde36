import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import "../../../src/adapters/undici/errors-without-stack.ts";
import { Client as PublicClient, type Dispatcher, errors } from "undici";
import symbols from "undici/lib/core/symbols.js";
import Client from "undici/lib/dispatcher/client.js";
import { expect, onTestFinished, test } from "vitest";
import { ANSWER_READ } from "../../../src/adapters/undici/faults.ts";
import { answer, type RawUpstream } from "../../support/raw-upstream.ts";
import { startUpstream } from "./polling.ts";

/** What the adapter relies on although undici does not document it. After an update of undici, look here first. */

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("undici is pinned to the installed version, because an inner module of it is imported", () => {
  const installed = /"version": "([^"]+)"/.exec(read("node_modules/undici/package.json"))?.[1];
  expect(/"undici": "([^"]+)"/.exec(read("package.json"))?.[1]).toBe(installed);
});

test("undici/lib/dispatcher/client.js is the public Client, and no second copy of it", () => {
  expect(Client).toBe(PublicClient);
});

test("the code that tells undici that its client stays usable is that of its InformationalError", () => {
  expect(ANSWER_READ).toHaveProperty("code", new errors.InformationalError("any").code);
});

test("a client whose socket ends with that error, as an answer ends, sends the next request anew", async () => {
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

test("what undici says to itself at the end of an answer has no stack, and the next error has one", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("{}"));
  });
  const { client, sockets } = openClient(upstream);
  const said = await new Promise<Error>((resolve, reject) => {
    dispatch(client, { onResponseError: (_controller, error) => reject(error) });
    sockets.at(-1)?.on("error", resolve);
  });
  expect(said.stack).toBe("InformationalError: reset");
  expect(new Error("next").stack).toContain("undici-inside.test.ts");
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

test("a socket that undici has taken has its parser, with all that answer-parser.ts corrects", async () => {
  const upstream = await startUpstream(async (connection) => void (await connection.request()));
  const { client, sockets } = openClient(upstream);
  const parser = await new Promise<unknown>((resolve, reject) => {
    dispatch(client, {
      onRequestStart: () => resolve(Reflect.get(sockets.at(-1) ?? {}, symbols.kParser)),
      onResponseError: (_controller, error) => reject(error),
    });
  });
  const method: unknown = expect.any(Function);
  expect(parser).toMatchObject({ headers: [], headersSize: 0 });
  expect(parser).toMatchObject({ onHeaderField: method, onHeadersComplete: method, trackHeader: method });
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
