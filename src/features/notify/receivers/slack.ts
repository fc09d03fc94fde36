import { type Kind, post, textOf } from "./kind.ts";

/** Rich text has a kind of its own for each link and mention, so plain text in it stays plain. */
export const slack: Kind = {
  request: (message, { url }) => {
    const { title, link } = message;
    const section = (...elements: object[]): object => ({ type: "rich_text_section", elements });
    const elements = [
      section({ type: "text", text: title, style: { bold: true } }),
      { type: "rich_text_preformatted", elements: [{ type: "text", text: textOf(message) }] },
      ...(link === undefined ? [] : [section({ type: "link", url: link })]),
    ];
    // Shown where blocks are not: a title holds only words of ours.
    return post(url, {
      text: title,
      unfurl_links: false,
      unfurl_media: false,
      blocks: [{ type: "rich_text", elements }],
    });
  },
};
