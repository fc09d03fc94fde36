import { expect, it } from "vitest";
import { slotsUnaccountedFor } from "./every-slot.ts";

it("every slot is accounted for at every scrape, while upstreams come, change and go, and until the very end", async () => {
  expect(await slotsUnaccountedFor(5)).toEqual([]);
});
