import { type Kind, post, textOf, withoutLinks } from "./kind.ts";

/** A message of 4,096 bytes becomes a file or is refused, and so is JSON of more than twice that, quotes escaped. */
const MOST_BYTES = 3_500;
const CUT = "…";

/** The URL is that of the topic; JSON goes to what is above it. */
export const ntfy: Kind = {
  request: (message, { url, key }) => {
    const { title, isOver, isReminder, link } = message;
    const topic = new URL(url);
    const [, above = "", name = ""] = /^(.*\/)([^/]+)\/*$/.exec(topic.pathname) ?? [];
    topic.pathname = above;
    const body = {
      topic: decodeURIComponent(name),
      title,
      message: capBytes(withoutLinks(textOf(message))),
      priority: isOver || isReminder ? 3 : 4,
      tags: [isOver ? "white_check_mark" : "warning"],
      ...(link !== undefined && { click: link }),
    };
    return post(topic.href, body, key === undefined ? {} : { Authorization: `Bearer ${key}` });
  },
};

function capBytes(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MOST_BYTES) return text;
  const kept = bytes.subarray(0, MOST_BYTES - Buffer.byteLength(CUT));
  // A character that is halved here is left out, as if the rest of it were to come.
  return new TextDecoder().decode(kept, { stream: true }) + CUT;
}
