import { isObject } from "../../core/exchange/json-value.ts";
import { capText } from "../../core/text/escape.ts";
import { type Kind, post, textOf } from "./kind.ts";

/** A message has at most 4,096 characters. */
const LONGEST = 3_500;

/** Without a parse mode there is no markup, and in code it looks for no links, mentions or commands. */
export const telegram: Kind = {
  url: "https://api.telegram.org",
  request: (message, { url, key = "", receiver }) => {
    const { title, link } = message;
    const code = capText(textOf(message), LONGEST);
    return post(`${url.replace(/\/+$/, "")}/bot${key}/sendMessage`, {
      chat_id: receiver.chat,
      text: `${title}\n${code}${link === undefined ? "" : `\n${link}`}`,
      entities: [
        { type: "bold", offset: 0, length: title.length },
        ...(code === "" ? [] : [{ type: "pre", offset: title.length + 1, length: code.length }]),
      ],
      link_preview_options: { is_disabled: true },
    });
  },
  waitMs: (body) => {
    const { parameters } = isObject(body) ? body : {};
    const seconds = isObject(parameters) ? parameters["retry_after"] : undefined;
    return typeof seconds === "number" ? seconds * 1_000 : undefined;
  },
};
