import { hash } from "node:crypto";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { Log } from "../../kernel/text/log.ts";
import { isoTime } from "../../platform/iso-time.ts";
import { ANNOUNCEMENT, type Announcement } from "./announcement.ts";

/** The log hears of it once, and again when it changes. */
export function announcementLog(): (poll: Pick<Poll, "said" | "outcome">, log: Pick<Log, "warn">) => void {
  let told = "";
  return ({ said, outcome }, log) => {
    const announcement = ANNOUNCEMENT.of(said);
    if (announcement === undefined) {
      if (outcome.kind === "ok") told = "";
      return;
    }
    const fields = endFields(announcement);
    // It may be long, and each upstream has one.
    const end = hash("sha256", JSON.stringify(fields));
    if (end === told) return;
    told = end;
    log.warn(fields, "upstream announces the end of its API");
  };
}

function endFields({ deprecatedAtMs, sunsetAtMs, links, warning }: Announcement): object {
  return {
    ...(deprecatedAtMs !== undefined && { deprecatedAt: isoTime(deprecatedAtMs) }),
    ...(sunsetAtMs !== undefined && { sunsetAt: isoTime(sunsetAtMs) }),
    ...(links.length === 0 ? {} : { links: links.map(({ rel, target }) => `${rel}: ${target}`) }),
    ...(warning === undefined ? {} : { warning }),
  };
}
