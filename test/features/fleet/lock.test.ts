import { expect, test } from "vitest";
import { lockKey } from "../../../src/features/fleet/lock.ts";

test("each vantage has a lock of its own, which no key of another fleet is", () => {
  const keys = [undefined, "eu", "us"].map((name) =>
    lockKey("pacewatch", name === undefined ? undefined : { name, of: 3 }),
  );
  expect(keys).toEqual(["pacewatch", "pacewatch:vantage:eu", "pacewatch:vantage:us"]);
});
