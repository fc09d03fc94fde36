import { followAnnouncement } from "../../features/announcements/announcement.ts";
import type { Follower } from "../../features/history/history.ts";
import { followQuotas } from "../../features/quota/tracked.ts";
import { followValues } from "../../features/values/tracked.ts";

/** What features remember of the polls of an upstream. */
export const FOLLOWERS: readonly Follower[] = [followValues, followQuotas, followAnnouncement];
