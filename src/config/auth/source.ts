import type { SecretSource } from "../../core/config/config.ts";
import { type z } from "zod";
import { codec, filePath, matching, section } from "../keys/leaves.ts";
import { noted } from "../keys/notes.ts";
import { exactlyOne, mappingOf, ruled } from "../keys/rules.ts";

/** A config says by one of these keys where a key is found. */
export type WrittenSource = { readonly env?: string | undefined; readonly file?: string | undefined };

export const NEVER_LITERAL = "a key is never written in the config";

type SourceKeys = Readonly<Record<keyof WrittenSource, z.ZodOptional<z.ZodType<string, string>>>>;

function sourceKeys(what: string, read: string): SourceKeys {
  const variable = matching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of an environment variable");
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
  return codec(sourceSection({}, phrase, what, read), { decode: sourceOf, encode: writtenSource });
}

/** A mapping that has neither is refused by its rule: the variable without a name is never read. */
export function sourceOf(keys: WrittenSource): SecretSource {
  return sourceIn(keys) ?? { from: "env", variable: "" };
}

export function sourceIn(written: unknown): SecretSource | undefined {
  const { env, file } = mappingOf(written);
  if (typeof env === "string") return { from: "env", variable: env };
  return typeof file === "string" ? { from: "file", path: file } : undefined;
}

export function writtenSource(source: SecretSource): WrittenSource {
  return source.from === "env" ? { env: source.variable } : { file: source.path };
}
