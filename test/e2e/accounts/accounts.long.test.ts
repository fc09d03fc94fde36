import { expect, it } from "vitest";
import { slotsUnaccountedFor } from "./every-slot.ts";

it("every slot is accounted for at every scrape, while upstreams come, change and go three times over, and until the very end", async () => {
  expect(await slotsUnaccountedFor(15)).toEqual([]);
});
