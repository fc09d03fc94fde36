import { configJsonSchemaText } from "../config/schema/json-schema.ts";

/** Prints the config's JSON Schema, byte by byte as `config/schema.json` has it. */
export function schema(options: { readonly out: (text: string) => void }): number {
  options.out(configJsonSchemaText());
  return 0;
}
