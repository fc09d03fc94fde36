import type { SecretSource } from "../../kernel/config/config.ts";
import { type z } from "zod";
import { filePath, matching, section } from "./leaves.ts";
import { noted } from "./notes.ts";
import { exactlyOne, ruled } from "./rules.ts";

export const NEVER_LITERAL = "a key is never written in the config";

type SourceKeys = Readonly<Record<keyof SecretSource, z.ZodOptional<z.ZodType<string, string>>>>;

function sourceKeys(what: string, read: string): SourceKeys {
  const variable = matching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the bare name of a variable, such as API_KEY");
  return {
    env: noted(variable, { example: "UNSET" })
      .optional()
      .describe(`The environment variable that holds ${what}.`),
    file: filePath("key").optional().describe(`The file that holds ${what}, relative to the config${read}`),
  };
}

/** A mapping of where a key is found, with more keys beside it. */
export function sourceSection<Shape extends z.core.$ZodShape>(
  more: Shape,
  phrase: string,
  what = "the key",
  read = ". It is read before each poll, so keys rotate.",
): z.ZodObject<Shape & SourceKeys, z.core.$strict> {
  const keys = section({ ...more, ...sourceKeys(what, read) }, phrase);
  return noted(ruled(keys, exactlyOne("env", "file")), { isSource: true });
}

/** A mapping of where a key is found, and nothing else. */
export function source(
  what?: string,
  phrase = `{ env: NAME } or { file: PATH }: ${NEVER_LITERAL}`,
  read?: string,
): z.ZodType<SecretSource> {
  return sourceSection({}, phrase, what, read);
}
