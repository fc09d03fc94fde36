import { announcementTeller } from "../../features/announcements/teller.ts";
import type { Teller } from "../../features/log/logger.ts";
import { tellCharge } from "../../features/money/teller.ts";
import { valueTeller } from "../../features/values/teller.ts";

/** What features have to say in the log of each poll of one upstream. */
export function tellersOf(): readonly Teller[] {
  return [announcementTeller(), valueTeller(), tellCharge];
}
