import { z } from "zod";
import { looksLikeSecretParameter } from "../../../config/keys/credential-signs.ts";
import {
  decoded,
  filePath,
  httpUrl,
  list,
  matching,
  named,
  oneOf,
  section,
  text,
} from "../../../config/keys/leaves.ts";
import { type Rule, noted } from "../../../config/keys/notes.ts";
import { mappingOf, ruled } from "../../../config/keys/rules.ts";
import { budgetName } from "../../../config/keys/budget-name.ts";
import type { AuthKind, AuthOf } from "./kind.ts";
import { NEVER_LITERAL, source } from "./source.ts";

/** A scope as RFC 6749 spells it: visible ASCII without quotes and backslashes. */
const SCOPE_PATTERN = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const PARAMETER_NAME_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;

/** Fields of a token request that Pacewatch sets itself. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set(["grant_type", "client_id", "client_secret", "scope"]);

const freeParameters: Rule = {
  check: (parameters, refuse) => {
    for (const name of Object.keys(mappingOf(parameters))) {
      if (OWN_PARAMETERS.has(name)) refuse([name], "is set by Pacewatch itself", []);
      else if (looksLikeSecretParameter(name)) {
        const must = `must not contain a key: ${NEVER_LITERAL}, use client_secret: { env: NAME }`;
        refuse([], must, [name]);
      }
    }
  },
};

const parameters = z
  .record(matching(PARAMETER_NAME_PATTERN, "a form field's name"), text("a text (quote numbers)", 1024), {
    error: "a mapping of form fields to texts",
  })
  .prefault({})
  .describe("More fields of the token request, such as audience. They are shown on pages: never a key.");

const keys = section(
  {
    token_url: httpUrl().describe("The token endpoint: its http or https URL, without a key in it."),
    client_id: noted(text("a client's id", 256), { example: "unset" }).describe(
      "The id of our client. It is shown on pages.",
    ),
    client_secret: source(
      "the client's secret",
      undefined,
      ". It is read before each token request.",
    ).describe("Where the client's secret is found."),
    scopes: list(matching(SCOPE_PATTERN, "a scope without spaces"), 50, "scopes")
      .prefault([])
      .describe("The scopes to ask for."),
    parameters: ruled(parameters, freeParameters),
    client_auth: oneOf(["basic", "body"])
      .prefault("basic")
      .describe("Where the client's id and secret are sent: in Authorization: Basic, or in the body."),
    budget: budgetName
      .optional()
      .describe("The budget that token requests count against. Default: the upstream's."),
    ca_file: filePath("certificates")
      .optional()
      .describe("PEM certificates to trust at the token endpoint instead of the system's."),
  },
  "a mapping of token_url, client_id, client_secret and, if needed, scopes, parameters, client_auth, budget, ca_file",
).describe(
  "Sent as Authorization: Bearer TOKEN. The token is fetched by client credentials (OAuth 2.0), at most once a minute, and shared by all upstreams with the same settings.",
);

export const oauth2: AuthKind<AuthOf<"oauth2">> = {
  schema: decoded(
    named(keys, { token_url: "url", client_secret: "secret" }),
    ({ secret, budget, url, ...token }) => ({
      kind: "oauth2",
      secret,
      // Its upstream has the budgets and the proxy of a token request that says nothing of them.
      token: {
        ...token,
        url: new URL(url).href,
        budgets: budget === undefined ? [] : [budget],
        proxy: "env",
      },
    }),
  ),
  header: () => "authorization",
};
