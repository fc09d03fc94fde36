import { expect, onTestFinished, test, vi } from "vitest";
import { flag, section } from "../../../src/config/keys/leaves.ts";

test("no code is made of text to check a config", () => {
  const made: unknown[] = [];
  const Real = Function;
  class Watched extends Real {
    constructor(...parameters: string[]) {
      super(...parameters);
      made.push(parameters);
    }
  }
  vi.stubGlobal("Function", Watched);
  onTestFinished(() => void vi.unstubAllGlobals());
  const checked = section({ enabled: flag() });
  expect(checked.parse({ enabled: true })).toEqual({ enabled: true });
  expect(checked.safeParse({ enabled: 1 }).success).toBe(false);
  expect(made).toEqual([]);
});
