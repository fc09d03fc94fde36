/** What the providers document of their requests, as JSON Schema: what is not in it, they would not know. */

import type { ReceiverKind } from "../../../src/core/config/config.ts";

type Schema = Readonly<Record<string, unknown>>;

function object(
  properties: Record<string, Schema>,
  required: readonly string[] = Object.keys(properties),
): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}

const TEXT = { type: "string", minLength: 1 };
const list = (items: Schema, more: Schema = {}): Schema => ({ type: "array", items, ...more });
const constant = (value: unknown): Schema => ({ const: value });

const slackText = object({ type: constant("text"), text: TEXT, style: object({ bold: constant(true) }) }, [
  "type",
  "text",
]);
const slackLink = object({ type: constant("link"), url: TEXT });

export const DOCUMENTED: Readonly<Record<Exclude<ReceiverKind, "webhook">, Schema>> = {
  // https://docs.slack.dev/reference/block-kit/blocks/rich-text-block, and of its elements
  // https://docs.slack.dev/reference/block-kit/block-elements/rich-text-section-element
  slack: object({
    text: TEXT,
    unfurl_links: constant(false),
    unfurl_media: constant(false),
    blocks: list(
      object({
        type: constant("rich_text"),
        elements: list(
          object({
            type: { enum: ["rich_text_section", "rich_text_preformatted"] },
            elements: list({ anyOf: [slackText, slackLink] }),
          }),
        ),
      }),
      { maxItems: 50 },
    ),
  }),
  // https://discord.com/developers/docs/resources/webhook#execute-webhook
  discord: object({
    content: { ...TEXT, maxLength: 2_000 },
    allowed_mentions: object({ parse: list({ enum: ["roles", "users", "everyone"] }) }),
    flags: constant(1 << 2),
  }),
  // https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using, and of plain text
  // https://learn.microsoft.com/adaptive-cards/schema-explorer/text-run
  teams: object({
    type: constant("message"),
    attachments: list(
      object({
        contentType: constant("application/vnd.microsoft.card.adaptive"),
        contentUrl: { type: "null" },
        content: object(
          {
            $schema: TEXT,
            type: constant("AdaptiveCard"),
            version: { enum: ["1.2", "1.3", "1.4", "1.5"] },
            body: list(
              object({
                type: constant("RichTextBlock"),
                inlines: list(
                  object(
                    {
                      type: constant("TextRun"),
                      text: TEXT,
                      weight: { enum: ["Default", "Lighter", "Bolder"] },
                      size: { enum: ["Default", "Small", "Medium", "Large", "ExtraLarge"] },
                    },
                    ["type", "text"],
                  ),
                ),
              }),
            ),
            actions: list(object({ type: constant("Action.OpenUrl"), title: TEXT, url: TEXT }), {
              maxItems: 1,
            }),
          },
          ["$schema", "type", "version", "body"],
        ),
      }),
    ),
  }),
  // https://docs.ntfy.sh/publish/#publish-as-json
  ntfy: object(
    {
      topic: { type: "string", pattern: "^[-_A-Za-z0-9]{1,64}$" },
      title: TEXT,
      message: TEXT,
      priority: { type: "integer", minimum: 1, maximum: 5 },
      tags: list(TEXT),
      click: TEXT,
    },
    ["topic", "title", "message", "priority", "tags"],
  ),
  // https://core.telegram.org/bots/api#sendmessage: places in the text are counted in UTF-16, as in JavaScript
  telegram: object({
    chat_id: { type: ["string", "integer"] },
    text: { ...TEXT, maxLength: 4_096 },
    entities: list(
      object({
        type: { enum: ["bold", "pre"] },
        offset: { type: "integer", minimum: 0 },
        length: { type: "integer", minimum: 1 },
      }),
    ),
    link_preview_options: object({ is_disabled: constant(true) }),
  }),
  // https://github.com/PagerDuty/api-schema/blob/main/reference/events-v2/openapiv3.json
  pagerduty: {
    oneOf: [
      object({
        routing_key: TEXT,
        dedup_key: { ...TEXT, maxLength: 255 },
        event_action: constant("resolve"),
      }),
      object(
        {
          routing_key: TEXT,
          dedup_key: { ...TEXT, maxLength: 255 },
          event_action: constant("trigger"),
          client: TEXT,
          client_url: TEXT,
          links: list(object({ href: TEXT, text: TEXT })),
          payload: object({
            summary: { ...TEXT, maxLength: 1_024 },
            source: TEXT,
            severity: { enum: ["critical", "warning", "error", "info"] },
            timestamp: TEXT,
            class: TEXT,
            custom_details: { type: "object" },
          }),
        },
        ["routing_key", "dedup_key", "event_action", "client", "payload"],
      ),
    ],
  },
  // postableAlerts of https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
  alertmanager: list(
    object(
      {
        labels: { type: "object", additionalProperties: { type: "string" }, required: ["alertname"] },
        annotations: { type: "object", additionalProperties: { type: "string" } },
        startsAt: TEXT,
        endsAt: TEXT,
        generatorURL: TEXT,
      },
      ["labels", "annotations", "startsAt", "endsAt"],
    ),
    { minItems: 1 },
  ),
};
