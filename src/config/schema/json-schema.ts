import { z } from "zod";
import { isObject } from "../../kernel/text/json.ts";
import type { ConfigSchema } from "./schema.ts";

/** The config's JSON Schema, for editors, as `config/schema.json` has it. */
export function configJsonSchemaText({ config }: Pick<ConfigSchema, "config">): string {
  const schema = withVariables(z.toJSONSchema(config, { io: "input" }));
  return `${JSON.stringify({ title: "Pacewatch configuration", ...schema }, undefined, 2)}\n`;
}

const VARIABLE = { type: "string", pattern: "\\$\\{" };
const KEPT_OUTSIDE = new Set(["description", "default"]);
/** Keys cannot be variables, and defaults are values. */
const LEFT_ALONE = new Set(["propertyNames", "default"]);

type Node = Readonly<Record<string, unknown>>;

/** Accepts a variable wherever a number, a flag or a certain text is expected. */
function withVariables(node: Node): Node {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    return isObject(value) ? withVariables(value) : value;
  };
  const entries = Object.entries(node).map(
    ([key, value]) => [key, LEFT_ALONE.has(key) ? value : visit(value)] as const,
  );
  if (!isTypedScalar(node)) return Object.fromEntries(entries);
  return {
    ...Object.fromEntries(entries.filter(([key]) => KEPT_OUTSIDE.has(key))),
    anyOf: [Object.fromEntries(entries.filter(([key]) => !KEPT_OUTSIDE.has(key))), VARIABLE],
  };
}

function isTypedScalar(node: Node): boolean {
  const type = node["type"];
  if (type === "integer" || type === "number" || type === "boolean") return true;
  return type === "string" && (node["pattern"] !== undefined || node["enum"] !== undefined);
}
