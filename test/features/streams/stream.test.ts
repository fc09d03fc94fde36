import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Stream, StreamFold } from "../../../src/features/streams/stream.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

const TOKENS: Stream = {
  format: "sse",
  ends: { data: "[DONE]" },
  atMost: 6,
  gapTimeoutMs: undefined,
  counts: { path: "/delta" },
};

function folded(stream: Stream, pieces: readonly Uint8Array[]): StreamFold {
  const fold = new StreamFold(stream, 0);
  for (const piece of pieces) fold.add(piece, 0);
  fold.finish(0);
  return fold;
}

test("a stream says the same wherever it is split", () => {
  const event = fc.constantFrom(
    '{"delta":"a"}',
    '{"delta":"é"}',
    '{"delta":""}',
    '{"delta":null}',
    '{"usage":1}',
    '{"error":{"code":1}}',
    '{"error":null,"delta":"b"}',
    "{no JSON",
    "[DONE]",
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 10 }), (events) => {
      const bytes = bytesOf(events.map((data) => `data: ${data}\n\n`).join(""));
      const told = ({ read, last }: StreamFold): object => ({ ...read, bytes: 0, last });
      const bytewise = [...bytes].map((byte) => Uint8Array.of(byte));
      expect(told(folded(TOKENS, bytewise))).toEqual(told(folded(TOKENS, [bytes])));
    }),
  );
});

test("lines of JSON may end as on Windows: the last is the one that ends the stream", () => {
  const stream: Stream = { ...TOKENS, format: "ndjson", ends: { data: '{"done":true}' } };
  const fold = folded(stream, [bytesOf('{"delta":"a"}\r\n{"done":true}\r\n')]);
  expect(fold.read).toMatchObject({ end: "complete", events: 1 });
});

test("where each event counts, nothing is joined: a stream may be as long as its body", () => {
  const stream: Stream = { format: "ndjson", ends: "end", atMost: 1_000 };
  const fold = folded(stream, [bytesOf(`"${"x".repeat(1_000)}"\n`.repeat(100))]);
  expect(fold.read).toMatchObject({ end: "complete", events: 100 });
  expect(fold.keptChars).toBeLessThan(3_000);
});

test("an event counts once it has something, and gaps are between those that count", () => {
  const fold = new StreamFold(TOKENS, 100);
  const add = (data: string, nowMs: number): void => fold.add(bytesOf(`data: ${data}\n\n`), nowMs);
  add('{"delta":""}', 150);
  expect(fold.hasCounted).toBe(false);
  add('{"delta":"o"}', 400);
  add('{"ping":1}', 900);
  add('{"delta":"k"}', 1_000);
  expect(fold.lastEventAtMs).toBe(1_000);
  expect(fold.measures(50, undefined)).toMatchObject({ events: 4, firstEventMs: 350, longestGapMs: 600 });
  expect(fold.measures(50, 9_000).longestGapMs).toBe(8_000);
  add("[DONE]", 1_100);
  expect(fold.read).toMatchObject({ end: "complete", events: 4 });
  expect([textOf(fold.read.first), textOf(fold.read.joined), textOf(fold.last)]).toEqual([
    '{"delta":"o"}',
    "ok",
    '{"delta":"k"}',
  ]);
});

test.each([
  ['{"delta":"a"}', { end: "broke_off" }],
  ['{"type":"error","error":{}}', { end: "error" }],
  ['{"error":false,"delta":"a"}', { end: "broke_off" }],
])("%s is an error event, or none", (data, expected) => {
  expect(folded(TOKENS, [bytesOf(`data: ${data}\n\n`)]).read).toMatchObject(expected);
});

test("what events say together is bounded, and so is the work on what only looks like JSON", () => {
  const long = JSON.stringify({ delta: "x".repeat(40_000) });
  const twice = bytesOf(`data: ${long}\n\n`.repeat(2));
  expect(folded(TOKENS, [twice]).end).toBe("too_long");
  const many: Stream = { ...TOKENS, atMost: 1_000 };
  const text = `${"data: {no\n\n".repeat(20)}data: {"delta":"a"}\n\n`;
  expect(folded(many, [bytesOf(text)]).hasCounted).toBe(false);
  expect(folded(many, [bytesOf(text.slice("data: {no\n\n".length))]).hasCounted).toBe(true);
});
