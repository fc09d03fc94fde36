import { expect, test } from "vitest";
import { ReceivedBody } from "../../src/transport/received-body.ts";

test("a body that comes in pieces is returned whole", () => {
  const body = new ReceivedBody(20_000);
  const pieces = Array.from({ length: 100 }, (_, index) => Buffer.from(`${index},`.repeat(index)));
  for (const piece of pieces) expect(body.add(piece)).toBe(true);
  expect(body.take()).toEqual(Buffer.concat(pieces));
});

test("nothing is an empty body", () => {
  expect(new ReceivedBody(5).take()).toEqual(Buffer.alloc(0));
});

test("the last byte that is allowed is taken, the next is not", () => {
  const body = new ReceivedBody(5);
  expect(body.add(Buffer.from("1234"))).toBe(true);
  expect(body.add(Buffer.from("5"))).toBe(true);
  expect(body.add(Buffer.from("6"))).toBe(false);
  expect(body.take()).toEqual(Buffer.alloc(0));
});

test("a byte that comes in a read of 64 KiB keeps a byte, not the read", () => {
  const reads = Array.from({ length: 200 }, () => Buffer.alloc(65_536, "x"));
  const body = new ReceivedBody(1_000);
  for (const read of reads) body.add(read.subarray(7, 8));
  const taken = body.take();
  expect(taken.toString()).toBe("x".repeat(200));
  expect(taken.buffer.byteLength).toBeLessThan(10_000);
  expect(reads.some((read) => read.buffer === taken.buffer)).toBe(false);
});

test("what comes in pieces takes at most twice its bytes", () => {
  const body = new ReceivedBody(10_000_000);
  for (let piece = 0; piece < 1_100; piece += 1) body.add(Buffer.alloc(1_000));
  expect(body.take().buffer.byteLength).toBeLessThanOrEqual(2_200_000);
});
