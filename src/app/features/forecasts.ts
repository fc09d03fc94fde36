import { apiEnding } from "../../features/announcements/announcement.ts";
import type { Forecast } from "../../features/notify/notify.ts";

/** What features warn of, beside incidents. */
export const FORECASTS: readonly Forecast[] = [apiEnding];
