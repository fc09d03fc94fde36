import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { CONFIG_SCHEMA, load } from "../../../src/app/features/sections.ts";
import { configJsonSchemaText } from "../../../src/config/schema/json-schema.ts";

const CONFIG = join(import.meta.dirname, "../../../config");

type Node = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

/** Every key that a config can have, with its schema. */
function keysOf(node: unknown, path = ""): readonly (readonly [string, Node])[] {
  if (!isNode(node)) return [];
  return Object.entries(node).flatMap(([key, value]) => {
    // A condition, not a key.
    if (key === "allOf" || key === "not") return [];
    if (key !== "properties" || !isNode(value)) return keysOf(value, path);
    return Object.entries(value).flatMap(([name, property]) =>
      isNode(property)
        ? [[`${path}.${name}`, property] as const, ...keysOf(property, `${path}.${name}`)]
        : [],
    );
  });
}

test("the JSON Schema that ships is the one that the config is read with", async () => {
  expect(configJsonSchemaText(CONFIG_SCHEMA)).toBe(await readFile(join(CONFIG, "schema.json"), "utf8"));
});

test("every key is described", () => {
  const keys = keysOf(JSON.parse(configJsonSchemaText(CONFIG_SCHEMA)));
  expect(keys.length).toBeGreaterThan(50);
  const silent = keys.filter(([, node]) => typeof node["description"] !== "string").map(([path]) => path);
  expect(silent).toEqual([]);
});

test("an editor accepts a variable where a number or a duration is asked for", () => {
  const keys = new Map(keysOf(JSON.parse(configJsonSchemaText(CONFIG_SCHEMA))));
  expect(keys.get(".upstreams.stream.at_most")).toEqual({
    description: expect.any(String),
    default: 64,
    anyOf: [
      { type: "integer", minimum: 1, maximum: 1000 },
      { type: "string", pattern: "\\$\\{" },
    ],
  });
});

test("the config that ships points at its schema, and fits", async () => {
  const path = join(CONFIG, "pacewatch.yaml");
  const text = await readFile(path, "utf8");
  expect(text.split("\n")[0]).toBe("# yaml-language-server: $schema=schema.json");
  const environment = {
    EMAIL_API_BASE_URL: "https://email.example.test",
    AI_ROUTER_BASE_URL: "https://router.example.test/api",
    EMAIL_API_KEY: "test-key-email",
    AI_ROUTER_API_KEY: "test-key-router",
  };
  const loading = await load(path, { environment });
  if (loading.kind === "refused") throw new Error(JSON.stringify(loading.faults));
  expect(loading.warnings).toEqual([]);
  expect(loading.config.upstreams.map(({ name, url, budgets }) => ({ name, url, budgets }))).toEqual([
    { name: "email", url: "https://email.example.test/v1/resources", budgets: ["email"] },
    { name: "ai-router", url: "https://router.example.test/api/v1/resources", budgets: ["ai-router"] },
  ]);
  expect(loading.proof.budgets.map(({ rates }) => rates.map(({ demand, cap }) => [demand, cap]))).toEqual([
    [[24, 200]],
    [[8, 12]],
  ]);
});

test("the config that ships needs its four variables, and says so", async () => {
  const loading = await load(join(CONFIG, "pacewatch.yaml"), { environment: {} });
  const said = loading.kind === "refused" ? loading.faults.map(({ message }) => message).join("\n") : "";
  for (const name of ["EMAIL_API_BASE_URL", "AI_ROUTER_BASE_URL", "EMAIL_API_KEY", "AI_ROUTER_API_KEY"]) {
    expect(said).toContain(`the variable ${name} is not set`);
  }
  expect((await load(join(CONFIG, "pacewatch.yaml"), { environment: {}, resolve: "structure" })).kind).toBe(
    "loaded",
  );
});

test("the config that ships uses only keys that its schema knows", async () => {
  const known = new Set(
    keysOf(JSON.parse(configJsonSchemaText(CONFIG_SCHEMA))).map(([path]) => path.split(".").at(-1)),
  );
  const config: unknown = parse(await readFile(join(CONFIG, "pacewatch.yaml"), "utf8"));
  const used =
    isNode(config) && Array.isArray(config["upstreams"]) ? config["upstreams"].flatMap(Object.keys) : [];
  expect(used.filter((key) => !known.has(key))).toEqual([]);
  expect(used.length).toBeGreaterThan(8);
});
