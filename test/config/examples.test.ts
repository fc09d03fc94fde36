import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { load } from "../../src/app/features/sections.ts";
import { loaded } from "./config-file.ts";

const EXAMPLES = fileURLToPath(new URL("../../docs/examples/", import.meta.url));
const ENVIRONMENT = {
  AI_ROUTER_BASE_URL: "https://router.example.test",
  AI_ROUTER_API_KEY: "test-key-router",
  EMAIL_BASE_URL: "https://email.example.test",
  EMAIL_API_KEY: "test-key-email",
  CRM_BASE_URL: "https://crm.example.test",
  CRM_LOGIN_URL: "https://login.example.test",
  CRM_CLIENT_SECRET: "test-key-client",
};

test.each(["ai-router-credit.yaml", "email-quota.yaml", "oauth2.yaml"])(
  "the example %s is accepted, and nothing is to be warned of",
  async (name) => {
    expect(await load(`${EXAMPLES}${name}`, { environment: ENVIRONMENT })).toMatchObject({
      kind: "loaded",
      warnings: [],
    });
  },
);

test("the example of completions is accepted: five models beside the list, which cost money and so are polled rarely", async () => {
  const loading = await load(`${EXAMPLES}ai-router-completions.yaml`, { environment: ENVIRONMENT });
  if (loading.kind === "refused") throw new Error(JSON.stringify(loading.faults));
  expect(loading.config.upstreams.map(({ name }) => name)).toEqual([
    "models",
    "completion-gpt-4o-mini",
    "completion-claude-haiku",
    "completion-gemini-flash",
    "completion-mistral-small",
    "completion-meta-llama-3.1-8b",
  ]);
  const [first, ...more] = loading.warnings;
  expect(first?.message).toMatch(
    /^upstreams "completion-.*, "completion-.*": each is polled too rarely for its 1h/,
  );
  expect(more).toEqual([]);
});

test("the configs that the page about scale shows fit their limits", async () => {
  const page = await readFile(new URL("../../docs/scale.md", import.meta.url), "utf8");
  const shown = [...page.matchAll(/^```yaml\n(.+?)^```/gms)].map(([, yaml = ""]) => yaml);
  const configs = shown.filter((yaml) => yaml.includes("upstreams:"));
  expect(configs).toHaveLength(2);
  for (const config of configs)
    expect((await loaded(config, { API_KEY: "test-key-api" })).warnings).toEqual([]);
});
