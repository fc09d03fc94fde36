import { z } from "zod";
import { isObject } from "../../core/exchange/json-value.ts";
import { type Schema, alternativeFor, knownOf } from "./notes.ts";

/**
 * Writes what was decoded with this schema as a config would say it: each codec is run backwards. Nothing is checked, as
 * it was when it was decoded: zod's own `encode` would check each value twice for every section that it is in, and could
 * not say that there is a key, of which only the place is told.
 */
export function encoded(schema: Schema, decoded: unknown): unknown {
  if (decoded === undefined) return undefined;
  const { layers, core, notes } = knownOf(schema);
  let value: unknown = decoded;
  for (const layer of layers) {
    if (layer instanceof z.ZodCodec) value = layer.def.reverseTransform(value, { value, issues: [] });
  }
  if (core instanceof z.ZodUnion) return encoded(alternativeFor(value, core), value);
  if (core instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => encoded(core.element, item));
  if (!(core instanceof z.ZodObject) || !isObject(value)) return value;
  const keys = Object.entries<Schema>(core.shape).map(([key, inner]) => [key, encoded(inner, value[key])]);
  return { ...Object.fromEntries(keys), ...(notes.isSource && { key: "<secret>" }) };
}
