import { expect, test } from "vitest";
import { conditionsOf, conditionsRecord, readBulletin } from "../../../src/core/notify/bulletin.ts";

const says = "Empty on Tuesday.";

test("what somebody else writes to the board gets no words of theirs into a title, and not without end", () => {
  const names = ["<!channel>", "@everyone", "a\nb", "\u202egnp", "x".repeat(1_000_000), ""];
  const conditions = names.map((of) => ({ kind: "credit_ending", of, says }) as const);
  const board = new Map([
    conditionsRecord("x", [...conditions, { kind: "credit_ending", of: "ai/1d", says }]),
    conditionsRecord("<!channel>", [{ kind: "config_refused", says }]),
  ]);
  expect(conditionsOf("x", board).map(({ of }) => of)).toEqual(["ai/1d"]);
  expect(conditionsOf("<!channel>", board)).toEqual([]);
  const written = {
    incidents: [],
    conditions: Array.from({ length: 10_000 }, (_, place) => ({
      kind: "credit_ending",
      of: `v-${place}`,
      says,
    })),
    isUnsure: false,
    words: { side: "them", lines: Array.from({ length: 10_000 }, () => "It is them.") },
  };
  const bulletin = readBulletin("email", JSON.stringify({ ...written, conditions: [...conditions] }));
  expect(bulletin?.conditions).toEqual([]);
  const long = readBulletin("email", JSON.stringify(written));
  expect(long?.conditions.length).toBeLessThanOrEqual(100);
  expect(long?.words?.lines.length).toBeLessThanOrEqual(10);
});
