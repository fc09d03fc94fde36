import { capText } from "../../core/text/escape.ts";
import { isObject } from "../../core/exchange/json-value.ts";
import { type Kind, post, textOf } from "./kind.ts";

/** A message has at most 2,000 characters. */
const LONGEST = 1_500;
const WITHOUT_PREVIEWS = 4;

/** Nothing in a block of code is markup, a link or a mention, and only backticks end it. */
export const discord: Kind = {
  request: (message, { url }) => {
    const { title, link } = message;
    const block = capText(textOf(message), LONGEST).replaceAll("`", "\u02cb");
    const content = `**${title.replaceAll(/[*_~`|\\]/g, "\\$&")}**\n\`\`\`\n${block}\n\`\`\`${link === undefined ? "" : `\n<${link}>`}`;
    const posted = new URL(url);
    // Without it, an answer says only that the message was read.
    posted.searchParams.set("wait", "true");
    return post(posted.href, { content, allowed_mentions: { parse: [] }, flags: WITHOUT_PREVIEWS });
  },
  waitMs: (body) => {
    const seconds = isObject(body) ? body["retry_after"] : undefined;
    return typeof seconds === "number" ? seconds * 1_000 : undefined;
  },
};
