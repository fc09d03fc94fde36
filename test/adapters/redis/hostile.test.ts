import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { AnswerSize } from "../../../src/adapters/redis/answer-size.ts";
import { Redis } from "../../../src/adapters/redis/connection.ts";
import { systemClock } from "../../../src/adapters/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleFleet } from "../../support/samples.ts";

const MEBIBYTE = 1_048_576;
const ANSWER_MAX_BYTES = 32 * MEBIBYTE;

type Hostile = { readonly port: number; readonly connections: () => number; readonly sent: () => number };

/** A server that answers everything by this, again and again, until it is cut off. */
async function hostile(head: string, piece: string): Promise<Hostile> {
  const sockets = new Set<Socket>();
  let [connections, sent] = [0, 0];
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    const pour = (): void => {
      while (!socket.destroyed && sent < 20 * ANSWER_MAX_BYTES && socket.write(piece)) sent += piece.length;
    };
    socket.on("error", () => {});
    socket.on("drain", pour);
    socket.once("data", () => {
      socket.write(head);
      if (piece !== "") pour();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return { port: address.port, connections: () => connections, sent: () => sent };
}

function open(port: number): { readonly redis: Redis; readonly told: string[] } {
  const told: string[] = [];
  const say = (fields: object, msg: string): void => void told.push(`${msg} ${JSON.stringify(fields)}`);
  const nodes = { kind: "single", host: "127.0.0.1", port, database: 0 } as const;
  const fleet = sampleFleet({
    redis: { nodes, username: undefined, password: undefined, tls: undefined },
  });
  const redis = new Redis(fleet, {
    clock: systemClock,
    log: { debug: () => {}, error: () => {}, info: say, warn: say },
    withoutKeys: (text) => text.replaceAll("test-password-1", "<secret>"),
    password: undefined,
    onCall: () => {},
  });
  onTestFinished(() => redis.close());
  return { redis, told };
}

test.each([
  ["an endless string", "$99999999999\r\n", "x".repeat(65_536)],
  ["an endless line", "+", "x".repeat(65_536)],
  ["an endless array", "*99999999999\r\n", ":1\r\n".repeat(16_384)],
  ["an array of arrays", "*9999999\r\n", "*0\r\n".repeat(16_384)],
])("%s ends the connection, is told once, and the next one is opened", async (_, head, piece) => {
  const server = await hostile(head, piece);
  const { redis, told } = open(server.port);
  // On a slow machine, the first connections may be given up before so much has arrived.
  const tooLong = (): readonly string[] =>
    told.filter((line) => line.includes(`longer than ${ANSWER_MAX_BYTES} bytes`));
  await eventually("it is told", () => tooLong().length > 0);
  const before = server.connections();
  await eventually("it connects again", () => server.connections() > before);
  expect(server.sent()).toBeLessThan(server.connections() * (ANSWER_MAX_BYTES + 32 * MEBIBYTE));
  expect(redis.isUp).toBe(false);
  expect(tooLong()).toHaveLength(1);
});

test("the connections of others in this process may have answers of any length", async () => {
  const server = await hostile("$99999999999\r\n", "");
  const socket = connect(server.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write("GET / HTTP/1.1\r\n\r\n");
  const [answer] = await once(socket, "data");
  expect(String(answer)).toBe("$99999999999\r\n");
  expect(socket.destroyed).toBe(false);
});

test("arrays in arrays without end do it too", async () => {
  const server = await hostile("", "*2\r\n".repeat(16_384));
  const { redis } = open(server.port);
  await eventually("it connects again", () => server.connections() >= 2);
  expect(redis.isUp).toBe(false);
});

test("answers that nobody asked for, and what is no answer, end nothing but the connection", async () => {
  for (const words of ["+OK\r\n".repeat(5), "%$&/(\r\n\r\n", ":\r\n*-5\r\n$-7\r\n"]) {
    const server = await hostile(words, "");
    const { redis } = open(server.port);
    await eventually("it was asked", () => server.connections() >= 1);
    expect((await redis.run({ call: "test", body: "", sha: "" }, ["key"], [])).kind).toBeTypeOf("string");
  }
});

test("an error that repeats the password is told without it", async () => {
  const server = await hostile("-ERR no such user with test-password-1\r\n", "");
  const { told } = open(server.port);
  await eventually("the error is told", () => told.length > 0);
  expect(told.join("\n")).toContain("no such user with <secret>");
});

type Value = string | number | null | readonly Value[];

function written(value: Value): string {
  if (value === null) return "$-1\r\n";
  if (typeof value === "number") return `:${value}\r\n`;
  if (typeof value === "string") return `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
  return `*${value.length}\r\n${value.map(written).join("")}`;
}

test("however answers are cut into pieces, each is measured by itself", () => {
  const { value } = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      fc.string(),
      fc.constant("a\r\n$5\r\n*3\r\n"),
      fc.integer(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 6 }), fc.integer({ min: 1, max: 9 }), (values, step) => {
      const bytes = Buffer.from(values.map(written).join(""));
      const size = new AnswerSize();
      const longest = Math.max(0, ...values.map((one) => Buffer.byteLength(written(one))));
      let last = 0;
      for (let at = 0; at < bytes.length; at += step) {
        last = size.add(bytes.subarray(at, at + step));
        // A value that is to come counts as 8 bytes, and takes at least 3.
        expect(last).toBeLessThanOrEqual(3 * longest);
      }
      expect(last).toBe(0);
    }),
    { seed: 20_261_122, numRuns: 500 },
  );
});

test.each([
  ["arrays of one in each other are one answer, however many", "*1\r\n".repeat(1_000), 4_000],
  ["an array counts what it announces", "*1000\r\n", 7 + 999 * 8],
  ["a string counts what it announces", "$1000\r\nabc", 7 + 1_002],
  ["an empty string in an array is one of its values", "*3\r\n$0\r\n\r\n", 10 + 8],
  ["nothing is left of an answer that is whole", "*2\r\n:1\r\n$-1\r\n", 0],
])("%s", (_, text, bytes) => {
  expect(new AnswerSize().add(Buffer.from(text))).toBe(bytes);
});
