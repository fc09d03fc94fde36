import type { Message } from "../plan/message.ts";
import { capText } from "../../../kernel/text/escape.ts";
import { isoTime } from "../../../platform/iso-time.ts";
import { type Kind, post, textOf, withoutLinks } from "./kind.ts";

const LONGEST_SUMMARY = 1_024;

/** Events API v2: what a dedup key has opened, the same key resolves. */
export const pagerduty: Kind = {
  closesById: true,
  url: "https://events.pagerduty.com/v2/enqueue",
  request: (message, { url, key }) => {
    const { event, isOver, members, title, sinceMs, link, incident } = message;
    // Some of what was told together is up, and some is not.
    if (event === "up" && !isOver) return undefined;
    const around = { routing_key: key, dedup_key: `pacewatch/${incident}` };
    if (event === "up") return post(url, { ...around, event_action: "resolve" });
    const [first] = members;
    return post(url, {
      ...around,
      event_action: "trigger",
      client: "Pacewatch",
      ...(link !== undefined && { client_url: link, links: [{ href: link, text: "The page" }] }),
      payload: {
        summary: capText(title, LONGEST_SUMMARY),
        source: first?.upstream ?? "pacewatch",
        severity: SEVERITIES[event],
        timestamp: isoTime(sinceMs),
        class: event,
        custom_details: { incident, text: withoutLinks(textOf(message)) },
      },
    });
  },
};

const SEVERITIES: Readonly<
  Record<Exclude<Message["event"], "up">, "critical" | "error" | "warning" | "info">
> = {
  down: "critical",
  unauthorized: "critical",
  blocked: "critical",
  flapping: "error",
  config_refused: "error",
  throttled: "warning",
  credit_ending: "warning",
  api_ending: "warning",
  state_lost: "warning",
  offline: "info",
};
