import { z } from "zod";
import { configSchema } from "./schema.ts";

/** The config's JSON Schema, for editors. It has to accept a variable where something else is meant. */
function configJsonSchema(): unknown {
  return {
    title: "Pacewatch configuration",
    ...withVariables(z.toJSONSchema(configSchema, { io: "input" })),
  };
}

/** As `config/schema.json` has it. */
export function configJsonSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`;
}

const VARIABLE = { type: "string", pattern: "\\$\\{" };
const KEPT_OUTSIDE = new Set(["description", "default"]);

type Node = { readonly [key: string]: unknown };

function withVariables(node: Node): Node {
  const inner = Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (key === "properties" && isNode(value)) return [key, mapValues(value)];
      if ((key === "items" || key === "additionalProperties") && isNode(value))
        return [key, withVariables(value)];
      if (key === "anyOf" && Array.isArray(value)) {
        return [key, value.map((item) => (isNode(item) ? withVariables(item) : item))];
      }
      return [key, value];
    }),
  );
  return isTypedScalar(inner) ? beside(inner) : inner;
}

function beside(scalar: Node): Node {
  const entries = Object.entries(scalar);
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

function mapValues(nodes: Node): Node {
  return Object.fromEntries(
    Object.entries(nodes).map(([key, value]) => [key, isNode(value) ? withVariables(value) : value]),
  );
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
