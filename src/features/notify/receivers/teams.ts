import { type Kind, post } from "./kind.ts";

/** A TextRun is plain text, while a TextBlock would read Markdown. */
export const teams: Kind = {
  request: ({ title, lines, link }, { url }) => {
    const run = (text: string, more: object = {}): object => ({
      type: "RichTextBlock",
      inlines: [{ type: "TextRun", text, ...more }],
    });
    const content = {
      $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
      type: "AdaptiveCard",
      version: "1.4",
      body: [run(title, { weight: "Bolder", size: "Medium" }), ...lines.map((line) => run(line))],
      ...(link !== undefined && {
        actions: [{ type: "Action.OpenUrl", title: "Open the page", url: link }],
      }),
    };
    return post(url, {
      type: "message",
      attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content }],
    });
  },
};
