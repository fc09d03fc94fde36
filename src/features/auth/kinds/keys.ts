/** The ways to send a key as it is found: in one header or another, or as a query parameter. */

import { z } from "zod";
import { isOwnHeader } from "../../../config/keys/credential-signs.ts";
import { decoded, headerName, matching, named, section, text } from "../../../config/keys/leaves.ts";
import { type Rule, noted } from "../../../config/keys/notes.ts";
import { mappingOf, ruled } from "../../../config/keys/rules.ts";
import type { AuthKind, AuthOf } from "./kind.ts";
import { NEVER_LITERAL, source, sourceSection } from "./source.ts";

export const none: AuthKind<AuthOf<"none">> = {
  schema: decoded(z.literal(true, { error: "true" }).describe("No key at all."), () => ({ kind: "none" })),
};

export const bearer: AuthKind<AuthOf<"bearer">> = {
  schema: decoded(source().describe("Sent as Authorization: Bearer KEY."), (secret) => ({
    kind: "bearer",
    secret,
  })),
  header: () => "authorization",
};

const freeHeader: Rule = {
  check: (written, refuse) => {
    const { name } = mappingOf(written);
    if (typeof name !== "string" || !isOwnHeader(name)) return;
    refuse(["name"], "must be a header that Pacewatch does not set itself");
  },
};

export const header: AuthKind<AuthOf<"header">> = {
  schema: decoded(
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
  ),
  header: ({ name }) => String(name).toLowerCase(),
};

export const query: AuthKind<AuthOf<"query">> = {
  schema: decoded(
    sourceSection(
      {
        name: noted(text("a query parameter's name", 128), { example: "unset" }).describe(
          "The query parameter that carries the key.",
        ),
      },
      `{ name: PARAMETER, env: NAME } or { name: PARAMETER, file: PATH }: ${NEVER_LITERAL}`,
    ).describe("Sent as a query parameter. It is kept out of every log, metric and page."),
    ({ name, ...secret }) => ({ kind: "query", name, secret }),
  ),
};

export const basic: AuthKind<AuthOf<"basic">> = {
  schema: named(
    section(
      {
        user: noted(matching(/^[^:\p{Cc}]{1,256}$/u, "a user's name without a colon"), {
          example: "unset",
        }).describe("The user's name. It is shown on pages."),
        password: source("the password").describe("Where the password is found."),
      },
      "a mapping of user and password",
    ).describe("Sent as Authorization: Basic."),
    { password: "secret" },
    { kind: "basic" },
  ),
  header: () => "authorization",
};
