/** What the providers document of their requests, as JSON Schema: what is not in it, they would not know. */

import type { ReceiverKind } from "../../../../src/features/notify/receiver.ts";

type Schema = Readonly<Record<string, unknown>>;

function object(
  properties: Record<string, Schema>,
  required: readonly string[] = Object.keys(properties),
): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** `mostBytes` is a word of these schemas: in UTF-8, of a text itself, and of anything else as JSON. */
const sized = (mostBytes: number, schema: Schema): Schema => ({ ...schema, mostBytes });

const TEXT = { type: "string", minLength: 1 };
const MOMENT = { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" };
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
  // https://learn.microsoft.com/adaptive-cards/schema-explorer/text-run, and of the size of a card
  // https://learn.microsoft.com/connectors/teams/
  teams: sized(
    28_000,
    object({
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
  ),
  // https://docs.ntfy.sh/publish/#publish-as-json. A message that reaches its limit of 4,096 bytes becomes a file, or is
  // refused, and JSON of more than twice that is not read: https://github.com/binwiederhier/ntfy/blob/main/server/server.go
  ntfy: sized(
    8_192,
    object(
      {
        topic: { type: "string", pattern: "^[-_A-Za-z0-9]{1,64}$" },
        title: TEXT,
        message: sized(4_095, TEXT),
        priority: { type: "integer", minimum: 1, maximum: 5 },
        tags: list(TEXT),
        click: TEXT,
      },
      ["topic", "title", "message", "priority", "tags"],
    ),
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
  // https://github.com/PagerDuty/api-schema/blob/main/reference/events-v2/openapiv3.json, and of its limits
  // https://github.com/PagerDuty/developer-docs/blob/main/docs/events-API-v2/02-Trigger-Events.md
  pagerduty: sized(512_000, {
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
            timestamp: MOMENT,
            class: TEXT,
            custom_details: { type: "object" },
          }),
        },
        ["routing_key", "dedup_key", "event_action", "client", "payload"],
      ),
    ],
  }),
  // postableAlerts of https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
  alertmanager: list(
    object(
      {
        labels: { type: "object", additionalProperties: { type: "string" }, required: ["alertname"] },
        annotations: { type: "object", additionalProperties: { type: "string" } },
        startsAt: MOMENT,
        endsAt: MOMENT,
        generatorURL: TEXT,
      },
      ["labels", "annotations", "startsAt", "endsAt"],
    ),
    { minItems: 1 },
  ),
};

/** An answer of a provider, and what it asks of whoever sent the request. */
export type DocumentedAnswer = {
  readonly kind: ReceiverKind;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  readonly is: "delivered" | "refused" | "failed";
  /** In how many seconds it may be asked again; absent where it does not say. */
  readonly againInS?: number;
};

const JSON_TYPE = { "Content-Type": "application/json" };

/** As the providers document them, in our words where their own do not matter. */
export const DOCUMENTED_ANSWERS: readonly DocumentedAnswer[] = [
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, and of its failures
  // https://docs.slack.dev/changelog/2016-05-17-changes-to-errors-for-incoming-webhooks
  { kind: "slack", status: 200, body: "ok", is: "delivered" },
  { kind: "slack", status: 400, body: "invalid_payload", is: "refused" },
  { kind: "slack", status: 403, body: "action_prohibited", is: "failed" },
  { kind: "slack", status: 404, body: "channel_not_found", is: "failed" },
  { kind: "slack", status: 410, body: "channel_is_archived", is: "failed" },
  { kind: "slack", status: 429, headers: { "Retry-After": "30" }, body: "", is: "failed", againInS: 30 },
  { kind: "slack", status: 500, body: "rollup_error", is: "failed" },
  // https://docs.discord.com/developers/resources/webhook#execute-webhook, of 204 without `wait`. Of 429, where header
  // or body tell how long, and of 404, which must not be tried again and again,
  // https://docs.discord.com/developers/topics/rate-limits
  { kind: "discord", status: 200, headers: JSON_TYPE, body: '{"id":"1"}', is: "delivered" },
  { kind: "discord", status: 204, body: "", is: "delivered" },
  {
    kind: "discord",
    status: 429,
    headers: { ...JSON_TYPE, "Retry-After": "65" },
    body: '{"message":"You are being rate limited.","retry_after":64.57,"global":false}',
    is: "failed",
    againInS: 65,
  },
  {
    kind: "discord",
    status: 429,
    headers: JSON_TYPE,
    body: '{"retry_after":1.5}',
    is: "failed",
    againInS: 1.5,
  },
  { kind: "discord", status: 404, headers: JSON_TYPE, body: '{"code":10015}', is: "failed", againInS: 3_600 },
  { kind: "discord", status: 400, headers: JSON_TYPE, body: '{"code":50035}', is: "refused" },
  // A workflow accepts, and runs after that: https://learn.microsoft.com/connectors/teams/
  { kind: "teams", status: 202, body: "", is: "delivered" },
  { kind: "teams", status: 413, body: "", is: "refused" },
  { kind: "teams", status: 429, headers: { "Retry-After": "5" }, body: "", is: "failed", againInS: 5 },
  // https://github.com/binwiederhier/ntfy/blob/main/server/errors.go
  { kind: "ntfy", status: 200, headers: JSON_TYPE, body: '{"id":"x","event":"message"}', is: "delivered" },
  { kind: "ntfy", status: 400, headers: JSON_TYPE, body: '{"code":40009,"http":400}', is: "refused" },
  { kind: "ntfy", status: 403, headers: JSON_TYPE, body: '{"code":40301,"http":403}', is: "failed" },
  { kind: "ntfy", status: 413, headers: JSON_TYPE, body: '{"code":41303,"http":413}', is: "refused" },
  { kind: "ntfy", status: 429, headers: JSON_TYPE, body: '{"code":42901,"http":429}', is: "failed" },
  // https://core.telegram.org/bots/api#responseparameters
  { kind: "telegram", status: 200, headers: JSON_TYPE, body: '{"ok":true,"result":{}}', is: "delivered" },
  {
    kind: "telegram",
    status: 429,
    headers: JSON_TYPE,
    body: '{"ok":false,"error_code":429,"parameters":{"retry_after":35}}',
    is: "failed",
    againInS: 35,
  },
  { kind: "telegram", status: 401, headers: JSON_TYPE, body: '{"ok":false}', is: "failed" },
  { kind: "telegram", status: 400, headers: JSON_TYPE, body: '{"ok":false}', is: "refused" },
  // https://github.com/PagerDuty/developer-docs/blob/main/docs/events-API-v2/01-Overview.md
  { kind: "pagerduty", status: 202, headers: JSON_TYPE, body: '{"status":"success"}', is: "delivered" },
  { kind: "pagerduty", status: 400, headers: JSON_TYPE, body: '{"status":"invalid event"}', is: "refused" },
  { kind: "pagerduty", status: 429, body: "", is: "failed" },
  { kind: "pagerduty", status: 500, body: "", is: "failed" },
  // https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
  { kind: "alertmanager", status: 200, body: "", is: "delivered" },
  { kind: "alertmanager", status: 400, body: '"invalid"', is: "refused" },
  { kind: "alertmanager", status: 500, body: '"failed"', is: "failed" },
];
