import { followAnnouncement } from "../../features/announcements/announcement.ts";
import { announcementLog } from "../../features/announcements/log.ts";
import type { Follower } from "../../features/history/history.ts";
import type { PollLog } from "../../features/log/logger.ts";
import { logCharge } from "../../features/money/log.ts";
import { followQuotas } from "../../features/quota/tracked.ts";
import { valueLog } from "../../features/values/log.ts";
import { followValues } from "../../features/values/tracked.ts";

/** What features remember of the polls of an upstream. */
export const FOLLOWERS: readonly Follower[] = [followValues, followQuotas, followAnnouncement];

/** What features have to say in the log of each poll of one upstream. */
export const pollLogsOf = (): readonly PollLog[] => [announcementLog(), valueLog(), logCharge];
