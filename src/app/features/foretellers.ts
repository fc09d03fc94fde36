import { apiEnding } from "../../features/announcements/announcement.ts";
import type { Foreteller } from "../../features/notify/notify.ts";

/** What features warn of, beside incidents. */
export const FORETELLERS: readonly Foreteller[] = [apiEnding];
