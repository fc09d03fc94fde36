import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { textInTurns } from "../../../src/adapters/metrics/text-in-turns.ts";
import { stopTime } from "../../support/virtual/stopped-time.ts";

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new TextDecoder().decode(Buffer.concat(await Array.fromAsync(stream)));
}

function fail(error: unknown): void {
  throw error;
}

test("the pieces come in their order, whatever letters they have, and the last behind them", async () => {
  const pieces = ["a{b}", "", 'é"\n', "🐢"];
  expect(await textOf(textInTurns(pieces.values(), async () => "end", fail))).toBe('a{b}é"\n🐢end');
});

test.each([
  ["in no time", 0, 6],
  ["while the loop is slow for 4 ms a turn", 4, 12],
  ["while the loop is slow for 60 ms a turn", 60, 30],
])(
  "others have their turns %s, each after a millisecond or as long as theirs took",
  async (_, othersMs, longest) => {
    const time = stopTime();
    let [pieces, most] = [0, 0];
    const text = textOf(
      textInTurns(
        Array.from({ length: 100 }, () => "piece")
          .values()
          .map((piece) => {
            most = Math.max(most, (pieces += 1));
            time.pass(0.5);
            return piece;
          }),
        async () => "",
        fail,
      ),
    );
    const over = new AbortController();
    void text.finally(() => over.abort());
    while (!over.signal.aborted) {
      await nextTurn();
      time.pass(othersMs);
      pieces = 0;
    }
    expect(await text).toHaveLength(500);
    expect(most).toBeLessThanOrEqual(longest);
  },
);

test("no more of it is made than is read", async () => {
  const time = stopTime();
  let made = 0;
  const pieces = (function* (): Generator<string> {
    for (;;) {
      time.pass(1);
      yield String((made += 1));
    }
  })();
  const reader = textInTurns(pieces, async () => "", fail).getReader();
  for (let read = 1; read <= 3; read += 1) {
    await reader.read();
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    // One is made in advance, for the next read.
    expect(made).toBe(read + 1);
  }
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
