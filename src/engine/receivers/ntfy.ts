import { type Kind, post, textOf, withoutLinks } from "./kind.ts";

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
      message: withoutLinks(textOf(message)),
      priority: isOver || isReminder ? 3 : 4,
      tags: [isOver ? "white_check_mark" : "warning"],
      ...(link !== undefined && { click: link }),
    };
    return post(topic.href, body, key === undefined ? {} : { Authorization: `Bearer ${key}` });
  },
};
