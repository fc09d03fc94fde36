import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PollRing } from "../../../src/features/history/poll-ring.ts";
import { StateFile } from "../../../src/features/state/file.ts";
import { NOW_MS, StateBench, stateErrors, TIMEOUT } from "./bench.ts";
import { aLife, overwrite } from "./damage.ts";

test("a file that is damaged while it is in use is replaced, and recording goes on", async () => {
  await using bench = await StateBench.make();
  await aLife(bench, 9_000);
  const store = await bench.open();
  const record = bench.recordOf(store);
  overwrite(bench.path, 4_096, new Uint8Array(statSync(bench.path).size - 4_096).fill(0xa5));
  // It is noticed when what is not in the cache is needed: at the latest when a day's polls have to go.
  bench.clock.stall(2 * 86_400_000);
  let turn = 0;
  await bench.until(() => {
    bench.poll(record, TIMEOUT, `late-${(turn += 1)}`);
    return existsSync(`${bench.path}.corrupt-1`) && store.isUp;
  }, 100);
  await store.close();
  expect(bench.query("SELECT poll FROM polls ORDER BY id DESC LIMIT 1")).toEqual([{ poll: `late-${turn}` }]);
  expect(stateErrors(bench).at(-1)).toMatch(/it was moved to/);
});

test("whatever byte is flipped, it opens, and what is restored is well-formed", async () => {
  await using bench = await StateBench.make();
  await aLife(bench);
  const sound = readFileSync(bench.path);
  const property = fc.property(fc.nat(sound.length - 1), fc.integer({ min: 1, max: 255 }), (offset, bits) => {
    const damaged = Uint8Array.from(sound);
    damaged[offset] = (damaged[offset] ?? 0) ^ bits;
    writeFileSync(bench.path, damaged);
    const file = new StateFile(bench.path);
    const reply = file.open(NOW_MS);
    file.close();
    // Whose it is, of which version and who may write it is said by a few bytes: then it may be somebody else's.
    const mayBeRefused = offset < 16 || offset === 18 || (offset >= 60 && offset < 72);
    const restored = reply.kind === "opened" ? reply.restored.upstreams.get("email") : undefined;
    expect(reply.kind === "opened" || mayBeRefused).toBe(true);
    expect(
      new PollRing(60, restored?.polls).all.filter(({ durationMs }) => !Number.isFinite(durationMs)),
    ).toEqual([]);
  });
  fc.assert(property, { numRuns: 100 });
});
