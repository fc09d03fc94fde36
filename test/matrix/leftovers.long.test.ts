import { expect, test } from "vitest";
import { BEHAVIOURS } from "../support/behaviours/catalogue.ts";
import { meet, meetingOf } from "../support/behaviours/meet.ts";
import { heldBytes } from "../support/garbage.ts";

const HEAVY = [
  "sends 4 GiB in chunks",
  "sends 30 MB as a few bytes of brotli",
  "sends 64 KiB of chunk extensions with each byte of its body",
  "sends headers without end",
  "says 102 Processing thousands of times",
  "opens a million brackets and closes none",
  "sends a reason phrase without end",
];
const HEAVY_ROUNDS = 8;
const LEFT_BEHIND_MOST_BYTES = 4_000_000;

test("the heaviest of them leave nothing behind, however often they come", { timeout: 60_000 }, async () => {
  const heavy = BEHAVIOURS.filter(({ does }) => HEAVY.includes(does));
  expect(heavy.length).toBe(HEAVY.length);
  const round = async (): Promise<void> => {
    for (const behaviour of heavy) {
      const stage = await behaviour.open();
      expect(meetingOf(await meet(behaviour, stage))).toBe(behaviour.meets);
      await stage.idle();
      await stage.close();
    }
  };
  await round();
  const before = await heldBytes();
  for (let rounds = 0; rounds < HEAVY_ROUNDS; rounds += 1) await round();
  expect((await heldBytes()) - before).toBeLessThan(LEFT_BEHIND_MOST_BYTES);
});
