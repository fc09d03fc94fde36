import { MINUTE_MS } from "../../../kernel/time/duration.ts";
import { isoTime } from "../../../platform/iso-time.ts";
import type { AlertKind } from "../plan/alert.ts";
import { type Kind, post, textOf, withoutLinks } from "./kind.ts";

/** As a Prometheus does it: an alert is sent each minute, and ends by itself when it is not sent for four. */
const ENDS_AFTER_MS = 4 * MINUTE_MS;

/** As the rules for Prometheus have them, and Alertmanager routes by them. */
const PAGES: ReadonlySet<AlertKind> = new Set(["down", "unauthorized", "blocked"]);

/**
 * Its API v2. It groups and routes by itself, so each trouble is an alert, with labels that only the config changes: what
 * becomes worse is another one.
 */
export const alertmanager: Kind = {
  repeatMs: MINUTE_MS,
  request: (message, { url, receiver }) => {
    const { members, event, atMs, link } = message;
    const alerts = members.map(({ subject, upstream, kind, labels, title, sinceMs, untilMs, incident }) => ({
      labels: {
        ...labels,
        alertname: "PacewatchTrouble",
        subject,
        severity: PAGES.has(kind) ? "page" : "ticket",
        ...(upstream !== undefined && { upstream }),
      },
      annotations: {
        summary: title,
        description: withoutLinks(textOf(message)),
        event,
        incident,
        receiver: receiver.name,
      },
      startsAt: isoTime(sinceMs),
      // Where the clock was set back, it would be refused as one that ends before it starts.
      endsAt: isoTime(Math.max(sinceMs, untilMs ?? atMs + ENDS_AFTER_MS)),
      ...(link !== undefined && { generatorURL: link }),
    }));
    return post(`${url.replace(/\/+$/, "")}/api/v2/alerts`, alerts);
  },
};
