import { capText } from "../../../kernel/text/escape.ts";
import { HOUR_MS } from "../../../kernel/time/duration.ts";
import { isObject } from "../../../kernel/text/json.ts";
import { type Kind, msOf, post, textOf } from "./kind.ts";

/** A message has at most 2,000 characters. */
const LONGEST = 2_000;
const WITHOUT_PREVIEWS = 4;
const NOT_FOUND = 404;

/** Nothing in a block of code is markup, a link or a mention, and only backticks end it. */
export const discord: Kind = {
  request: (message, { url }) => {
    const { title, link } = message;
    const before = `**${title.replaceAll(/[*_~`|\\]/g, "\\$&")}**\n\`\`\`\n`;
    const after = `\n\`\`\`${link === undefined ? "" : `\n<${link}>`}`;
    const block = capText(textOf(message), LONGEST - before.length - after.length).replaceAll("`", "\u02cb");
    const content = before + block + after;
    const posted = new URL(url);
    // Without it, an answer says only that the message was read.
    posted.searchParams.set("wait", "true");
    return post(posted.href, { content, allowed_mentions: { parse: [] }, flags: WITHOUT_PREVIEWS });
  },
  // It restricts whoever asks again and again for a webhook that is gone.
  waitMs: (body, status) =>
    status === NOT_FOUND ? HOUR_MS : msOf(isObject(body) ? body["retry_after"] : undefined),
};
