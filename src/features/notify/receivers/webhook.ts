import { createHmac } from "node:crypto";
import type { Message } from "../plan/message.ts";
import { isoTime } from "../../../platform/iso-time.ts";
import { type Kind, post, textOf } from "./kind.ts";

/** Changes only where a reader would break. Its schema is `config/notification.schema.json`. */
const VERSION = 1;
const NAMED = 10;

export const webhook: Kind = {
  closesById: true,
  request: (message, { url, key, receiver }) => {
    const request = post(url, bodyOf(message, receiver.name));
    if (key === undefined) return request;
    const signature = createHmac("sha256", key).update(request.body).digest("hex");
    return { ...request, headers: { "X-Pacewatch-Signature": `sha256=${signature}` } };
  },
};

function bodyOf(message: Message, receiver: string): object {
  const { event, incident, members, of, atMs, sinceMs, untilMs, isReminder, side, title, link, isOver } =
    message;
  const names = [...new Set(members.flatMap(({ upstream }) => upstream ?? []))];
  return {
    version: VERSION,
    event,
    incident,
    receiver,
    upstream: names.length === 1 ? names[0] : null,
    upstreams: names.slice(0, NAMED),
    count: members.length,
    of,
    at: isoTime(atMs),
    since: isoTime(sinceMs),
    until: untilMs === undefined ? null : isoTime(untilMs),
    over: isOver,
    reminder: isReminder,
    side,
    title,
    text: textOf(message),
    url: link ?? null,
  };
}
