import { expect, test } from "vitest";
import { remembered } from "../../src/platform/remembered.ts";

/** A function that remembers, and how often each text was worked out. */
function counting(most: number): {
  readonly ask: (text: string) => string | undefined;
  readonly worked: string[];
} {
  const worked: string[] = [];
  const ask = remembered(most, (text) => {
    worked.push(text);
    return text === "nothing" ? undefined : text.toUpperCase();
  });
  return { ask, worked };
}

test("what a text means is worked out once, also where it means nothing", () => {
  const { ask, worked } = counting(4);
  for (let turn = 0; turn < 3; turn += 1) {
    expect(ask("limit")).toBe("LIMIT");
    expect(ask("nothing")).toBeUndefined();
  }
  expect(worked).toEqual(["limit", "nothing"]);
});

test("whoever sends a new text each time makes it forget, and not grow", () => {
  const { ask, worked } = counting(4);
  for (let turn = 0; turn < 5; turn += 1) ask(`name-${turn}`);
  expect(worked).toHaveLength(5);
  // The fifth found four, and all were forgotten.
  ask("name-4");
  expect(worked).toHaveLength(5);
  ask("name-0");
  expect(worked).toHaveLength(6);
});

test("a long text is worked out each time, and never kept", () => {
  const { ask, worked } = counting(4);
  const long = "x".repeat(257);
  ask(long);
  ask(long);
  ask(long.slice(1));
  ask(long.slice(1));
  expect(worked).toEqual([long, long, long.slice(1)]);
});
