import { it } from "vitest";
import { expectEverySlotAccounted } from "./every-slot.ts";

it("every slot is accounted for at every scrape, while upstreams come, change and go, and until the very end", async () => {
  await expectEverySlotAccounted(5);
});
