/** The simulated upstreams list these at /v1/resources. */

export type Resources = readonly Readonly<Record<string, string | number | boolean>>[];

export const EMAIL_RESOURCES: Resources = [
  { type: "domain", id: "dom_01", name: "mail.example.com", verified: true },
  { type: "domain", id: "dom_02", name: "news.example.com", verified: true },
  { type: "domain", id: "dom_03", name: "trial.example.org", verified: false },
  { type: "template", id: "tpl_01", name: "welcome", version: 7 },
  { type: "template", id: "tpl_02", name: "password reset", version: 3 },
  { type: "template", id: "tpl_03", name: "monthly invoice", version: 12 },
];

export const AI_ROUTER_RESOURCES: Resources = [
  { type: "model", id: "small-chat-1", context_tokens: 32_000, available: true },
  { type: "model", id: "large-chat-2", context_tokens: 200_000, available: true },
  { type: "model", id: "embedding-1", context_tokens: 8_000, available: true },
  { type: "model", id: "vision-beta", context_tokens: 64_000, available: false },
];

export function resourceList(resources: Resources): string {
  return JSON.stringify({ object: "list", total: resources.length, data: resources });
}
