import { isObject } from "../../../kernel/text/json.ts";
import { capText } from "../../../kernel/text/escape.ts";
import { type Kind, msOf, post, textOf } from "./kind.ts";

/** A message has at most 4,096 characters. */
const LONGEST = 4_096;

/** Without a parse mode there is no markup, and in code it looks for no links, mentions or commands. */
export const telegram: Kind = {
  url: "https://api.telegram.org",
  request: (message, { url, key = "", receiver }) => {
    const { title, link } = message;
    const before = `${title}\n`;
    const after = link === undefined ? "" : `\n${link}`;
    const code = capText(textOf(message), LONGEST - before.length - after.length);
    return post(`${url.replace(/\/+$/, "")}/bot${key}/sendMessage`, {
      chat_id: receiver.chat,
      text: before + code + after,
      entities: [
        { type: "bold", offset: 0, length: title.length },
        ...(code === "" ? [] : [{ type: "pre", offset: before.length, length: code.length }]),
      ],
      link_preview_options: { is_disabled: true },
    });
  },
  waitMs: (body) => {
    const { parameters } = isObject(body) ? body : {};
    return msOf(isObject(parameters) ? parameters["retry_after"] : undefined);
  },
};
