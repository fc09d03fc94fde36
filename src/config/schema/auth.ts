import { z } from "zod";
import { HEADER_NAME_PATTERN } from "./credential-signs.ts";
import { filePath, matching, section, text } from "./leaves.ts";

export type RawSecret = { readonly env?: string | undefined; readonly file?: string | undefined };
type RawNamedSecret = RawSecret & { readonly name: string };

export type RawAuth = {
  readonly none?: true | undefined;
  readonly bearer?: RawSecret | undefined;
  readonly header?: RawNamedSecret | undefined;
  readonly query?: RawNamedSecret | undefined;
};

const where = {
  env: matching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of an environment variable")
    .optional()
    .describe("The environment variable that holds the key."),
  file: filePath()
    .optional()
    .describe(
      "The file that holds the key, relative to the config. It is read before each poll, so keys rotate.",
    ),
};
const exactlyOne = { oneOf: [{ required: ["env"] }, { required: ["file"] }] };
const NEVER_LITERAL = "a key is never written in the config";

export const authSchema: z.ZodType<RawAuth> = section(
  {
    none: z.literal(true, { error: "true" }).optional().describe("No key at all."),
    bearer: section(where, `{ env: NAME } or { file: PATH }: ${NEVER_LITERAL}`)
      .meta(exactlyOne)
      .optional()
      .describe("Sent as Authorization: Bearer KEY."),
    header: section(
      {
        name: matching(HEADER_NAME_PATTERN, "a header's name").describe(
          "The header that carries the key alone.",
        ),
        ...where,
      },
      `{ name: HEADER, env: NAME } or { name: HEADER, file: PATH }: ${NEVER_LITERAL}`,
    )
      .meta(exactlyOne)
      .optional()
      .describe("Sent in a header of its own."),
    query: section(
      {
        name: text("a query parameter's name", 128).describe("The query parameter that carries the key."),
        ...where,
      },
      `{ name: PARAMETER, env: NAME } or { name: PARAMETER, file: PATH }: ${NEVER_LITERAL}`,
    )
      .meta(exactlyOne)
      .optional()
      .describe("Sent as a query parameter. It is kept out of every log, metric and page."),
  },
  `one of bearer, header, query (each with env or file) or none: true; ${NEVER_LITERAL}`,
)
  .meta({ minProperties: 1, maxProperties: 1 })
  .describe("How a request is authorised: exactly one of these.");
