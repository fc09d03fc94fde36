/** How a request is authenticated. The ways to send a key as it is found are here: in one header or another, or as a query parameter. */

import { z } from "zod";
import type { Auth, AuthKinds } from "../../kernel/config/config.ts";
import { isOwnHeader } from "../keys/credential-signs.ts";
import { decoded, headerName, matching, named, section, text } from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { exactlyOne, mappingOf, ruled } from "../keys/rules.ts";
import { NEVER_LITERAL, source, sourceSection } from "../keys/source.ts";
import { type Section, withSections } from "./section.ts";

const freeHeader: Rule = {
  check: (written, refuse) => {
    const { name } = mappingOf(written);
    if (typeof name !== "string" || !isOwnHeader(name)) return;
    refuse(["name"], "must be a header that Pacewatch does not set itself");
  },
};

const none: z.ZodType<AuthKinds["none"]> = decoded(
  z.literal(true, { error: "true" }).describe("No key at all."),
  () => ({ kind: "none" }),
);

const bearer: z.ZodType<AuthKinds["bearer"]> = decoded(
  source().describe("Sent as Authorization: Bearer KEY."),
  (secret) => ({ kind: "bearer", secret }),
);

const header: z.ZodType<AuthKinds["header"]> = decoded(
  ruled(
    sourceSection(
      {
        name: headerName().describe("The header that carries the key, and nothing else but the prefix."),
        prefix: matching(/^[\x21-\x7e][\x20-\x7e]{0,31}$/, "printable text of at most 32 characters")
          .optional()
          .describe('What stands before the key, with its space: "Token ".'),
      },
      `{ name: HEADER, env: NAME } or { name: HEADER, file: PATH }: ${NEVER_LITERAL}`,
    ),
    freeHeader,
  ).describe("Sent in a header of its own."),
  ({ name, prefix, ...secret }) => ({ kind: "header", name, prefix, secret }),
);

const query: z.ZodType<AuthKinds["query"]> = decoded(
  sourceSection(
    {
      name: noted(text("a query parameter's name", 128), { example: "unset" }).describe(
        "The query parameter that carries the key.",
      ),
    },
    `{ name: PARAMETER, env: NAME } or { name: PARAMETER, file: PATH }: ${NEVER_LITERAL}`,
  ).describe("Sent as a query parameter. It is kept out of every log, metric and page."),
  ({ name, ...secret }) => ({ kind: "query", name, secret }),
);

const basic: z.ZodType<AuthKinds["basic"]> = named(
  section(
    {
      user: noted(matching(/^[^:\p{Cc}]{1,256}$/u, "a user's name without a colon"), {
        example: "unset",
        isUser: true,
      }).describe("The user's name. It is shown on pages."),
      password: source("the password").describe("Where the password is found."),
    },
    "a mapping of user and password",
  ).describe("Sent as Authorization: Basic."),
  { password: "secret" },
  { kind: "basic" },
);

export function authSchema(sections: readonly Section[]): z.ZodType<Auth> {
  const shape: Readonly<Record<string, z.ZodType<Auth>>> = { none, bearer, header, query, basic };
  const kinds = Object.entries(withSections(shape, "auth", sections));
  const others = kinds.slice(Object.keys(shape).length).map(([kind]) => `, ${kind}`);
  return noted(
    decoded(
      ruled(
        section(
          Object.fromEntries(kinds.map(([kind, schema]) => [kind, z.optional(schema)])),
          `one of bearer, header, query (each with env or file), basic${others.join("")} or none: true; ${NEVER_LITERAL}`,
        ),
        exactlyOne(...kinds.map(([kind]) => kind)),
      ).describe("How a request is authenticated: exactly one of these."),
      // A mapping with none of them, or several, is refused by its rule.
      (written): Auth => Object.values(written).find((auth) => auth !== undefined) ?? { kind: "none" },
    ),
    { isSecret: true },
  );
}

/** The headers that carry the key or the token, in lower case. */
export function headersOf(auth: unknown, sections: readonly Section[]): readonly string[] {
  return Object.entries(mappingOf(auth)).flatMap(([kind, written]) => {
    if (kind === "bearer" || kind === "basic") return ["authorization"];
    if (kind === "header") return [String(mappingOf(written)["name"]).toLowerCase()];
    return sections.flatMap(({ at, shape, sends = [] }) =>
      at === "auth" && Object.hasOwn(shape, kind) ? sends : [],
    );
  });
}
