/** A poll sends, besides its path, headers and key, its method and its body. */

import { z } from "zod";
import { METHODS, type Method, type RequestBody } from "../../kernel/config/config.ts";
import { decoded, filePath, flag, oneOf, section } from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { exactlyOne, mappingOf, ruled } from "../keys/rules.ts";

export const MOST_BODY_BYTES: number = 256 * 1024;

const KINDS = ["json", "text", "form", "file"] as const;
const TEXT_PHRASE = "a text (quote numbers)";

const bodyKeys = ruled(
  section(
    {
      json: noted(z.unknown(), { example: "unset" })
        .optional()
        .describe("Sent as JSON: any value, written as YAML. What a variable puts into it is a text."),
      text: noted(z.string({ error: TEXT_PHRASE }), { example: "unset" })
        .optional()
        .describe("Sent as it is, as text/plain unless headers say another Content-Type."),
      form: noted(
        z.record(z.string(), z.string({ error: TEXT_PHRASE }), {
          error: "a mapping of form fields to texts",
        }),
        { example: "unset" },
      )
        .optional()
        .describe("Sent as the fields of a form."),
      file: filePath("body")
        .optional()
        .describe(
          "What this file holds, at most 256 KiB, without variables: as JSON where its name ends with .json, else as application/octet-stream. It is read with the config.",
        ),
    },
    "one of json, text, form or file",
  ),
  exactlyOne(...KINDS),
);

type WrittenBody = {
  readonly json?: unknown;
  readonly text?: string | undefined;
  readonly form?: Readonly<Record<string, string>> | undefined;
  readonly file?: string | undefined;
};

/** A mapping with none of them, or several, is refused by its rule. */
export function bodyOf({ json, text, form, file }: WrittenBody): RequestBody {
  if (text !== undefined) return { text };
  if (form !== undefined) return { form };
  return file === undefined ? { json } : { file, read: undefined };
}

const body: z.ZodType<RequestBody> = decoded(bodyKeys, bodyOf);

type RequestKeys = {
  readonly method: z.ZodType<Method | undefined>;
  readonly body: z.ZodType<RequestBody | undefined>;
  readonly idempotency_key: z.ZodType<boolean | undefined>;
};

export const requestKeys: RequestKeys = {
  method: oneOf(METHODS)
    .optional()
    .describe(
      "The method of its request. Default: GET. check tells how often one is sent that is not safe, which may do or cost something.",
    ),
  body: noted(body, { isSecret: true })
    .optional()
    .describe(
      "What its request sends: exactly one of these. It is shown on pages: a key comes from a variable, which is treated as a secret.",
    ),
  idempotency_key: flag()
    .optional()
    .describe("Whether each poll sends an Idempotency-Key of its own. Nothing is ever sent twice anyway."),
};

const WITH_BODY = ["POST", "PUT", "PATCH", "DELETE"];
const WITHOUT_BODY: ReadonlySet<unknown> = new Set(METHODS.filter((method) => !WITH_BODY.includes(method)));

export const bodyNeedsMethod: Rule = {
  check: (upstream, refuse) => {
    const { method = "GET", body } = mappingOf(upstream);
    if (body === undefined || !WITHOUT_BODY.has(method)) return;
    const fix = `set method to one of ${WITH_BODY.join(", ")}`;
    refuse(["body"], `must not be set where method is ${String(method)}, which sends none: ${fix}`, []);
  },
};

/** A check of a body makes no sense for HEAD: no answer to it has one. */
export function ofBody(...path: readonly string[]): Rule {
  return {
    check: (upstream, refuse) => {
      const { method } = mappingOf(upstream);
      const asked = path.reduce((at, key) => mappingOf(at)[key], upstream);
      if (method !== "HEAD" || asked === undefined || asked === false) return;
      const [must, ...key] = asked === true ? ["be true"] : ["be set", []];
      refuse(path, `must not ${must} where method is HEAD, whose answer has no body`, ...key);
    },
  };
}
