import { z } from "zod";
import type { Auth } from "../../../kernel/config/config.ts";
import { decoded, section } from "../../../config/keys/leaves.ts";
import { noted } from "../../../config/keys/notes.ts";
import { exactlyOne, mappingOf, ruled } from "../../../config/keys/rules.ts";
import { aws } from "./aws.ts";
import { basic, bearer, header, none, query } from "./keys.ts";
import type { AuthKind, AuthOf } from "./kind.ts";
import { oauth2 } from "./oauth2.ts";
import { NEVER_LITERAL } from "./source.ts";

/** Every way to authenticate, by its key in the config. A new one is one line here, and a file beside this one. */
const BY_KEY: { readonly [Kind in Auth["kind"]]: AuthKind<AuthOf<Kind>> } = {
  none,
  bearer,
  header,
  query,
  basic,
  aws,
  oauth2,
};
const KINDS: readonly (readonly [key: string, kind: AuthKind])[] = Object.entries(BY_KEY);

export const authSchema: z.ZodType<Auth> = noted(
  decoded(
    ruled(
      section(
        Object.fromEntries(KINDS.map(([kind, { schema }]) => [kind, z.optional(schema)])),
        `one of bearer, header, query (each with env or file), basic, aws, oauth2 or none: true; ${NEVER_LITERAL}`,
      ),
      exactlyOne(...KINDS.map(([kind]) => kind)),
    ).describe("How a request is authenticated: exactly one of these."),
    // A mapping with none of them, or several, is refused by its rule.
    (written): Auth => Object.values(written).find((auth) => auth !== undefined) ?? { kind: "none" },
  ),
  { isSecret: true },
);

/** The headers that carry the key or the token, in lower case. */
export function headersOf(auth: unknown): readonly string[] {
  return KINDS.flatMap(([kind, { header }]) => {
    const { [kind]: written } = mappingOf(auth);
    return written === undefined || header === undefined ? [] : header(mappingOf(written));
  });
}
