import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { textInTurns } from "../../../src/adapters/metrics/text-in-turns.ts";

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new TextDecoder().decode(Buffer.concat(await Array.fromAsync(stream)));
}

function fail(error: unknown): void {
  throw error;
}

/** A piece that takes a while to make. */
function slowPiece(text: string): string {
  const untilMs = performance.now() + 1;
  while (performance.now() < untilMs);
  return text;
}

test("the pieces come in their order, whatever letters they have, and the last behind them", async () => {
  const pieces = ["a{b}", "", 'é"\n', "🐢"];
  expect(await textOf(textInTurns(pieces.values(), async () => "end", fail))).toBe('a{b}é"\n🐢end');
});

test("others have their turns while it is made", async () => {
  const pieces = Array.from({ length: 30 }, () => "piece")
    .values()
    .map(slowPiece);
  let turns = 0;
  const over = new AbortController();
  const text = textOf(textInTurns(pieces, async () => "", fail)).finally(() => over.abort());
  while (!over.signal.aborted) {
    await nextTurn();
    turns += 1;
  }
  expect(await text).toHaveLength(150);
  expect(turns).toBeGreaterThan(15);
});

test("no more of it is made than is read", async () => {
  let made = 0;
  const pieces = (function* (): Generator<string> {
    for (;;) yield slowPiece(String((made += 1)));
  })();
  const reader = textInTurns(pieces, async () => "", fail).getReader();
  await reader.read();
  await nextTurn();
  await nextTurn();
  const madeBefore = made;
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  expect(made).toBe(madeBefore);
  await reader.cancel();
});

test("what fails while it is made fails whoever reads it, and is told", async () => {
  const told: unknown[] = [];
  const pieces = (function* (): Generator<string> {
    yield "piece";
    throw new Error("a bug");
  })();
  const text = textInTurns(
    pieces,
    async () => "",
    (error) => told.push(error),
  );
  await expect(textOf(text)).rejects.toThrow("a bug");
  expect(told).toEqual([new Error("a bug")]);
});
