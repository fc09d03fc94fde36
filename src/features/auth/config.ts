/** The ways to authenticate that sign, or fetch a token. */

import { z } from "zod";
import { looksLikeSecretParameter } from "../../config/keys/credential-signs.ts";
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
  budgetName,
} from "../../config/keys/leaves.ts";
import { type Rule, noted } from "../../config/keys/notes.ts";
import { mappingOf, ruled } from "../../config/keys/rules.ts";
import { NEVER_LITERAL, source } from "../../config/keys/source.ts";
import { isCleartext } from "../../config/keys/upstream-url.ts";
import { complain } from "../../config/read/fault.ts";
import type { Section } from "../../config/schema/section.ts";
import type { Proxy, SecretSource } from "../../kernel/config/config.ts";

/** Signature Version 4 of Amazon Web Services: each request is signed, and no key is sent. */
export type Aws = {
  readonly kind: "aws";
  readonly service: string;
  readonly region: string;
  readonly accessKeyId: SecretSource;
  readonly secret: SecretSource;
  readonly sessionToken?: SecretSource | undefined;
};

/** The client credentials of OAuth 2.0: a token is fetched with them, and sent as a bearer key. */
export type OAuth2 = {
  readonly kind: "oauth2";
  /** The client's. */
  readonly secret: SecretSource;
  readonly token: TokenRequest;
};

export type TokenRequest = {
  readonly url: string;
  readonly clientId: string;
  /** Where the client's id and secret are sent: in `Authorization: Basic`, or in the form. */
  readonly clientAuth: "basic" | "body";
  readonly scopes: readonly string[];
  /** Further fields of the form, such as `audience`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Its requests count against each of them. */
  readonly budgets: readonly string[];
  readonly proxy: Proxy;
  readonly caFile: string | undefined;
};

declare module "../../kernel/config/config.ts" {
  interface AuthKinds {
    aws: Aws;
    oauth2: OAuth2;
  }
}

const part = (phrase: string): ReturnType<typeof matching> =>
  noted(matching(/^[a-z0-9][a-z0-9-]{0,63}$/, phrase), { example: "unset" });

const aws: z.ZodType<Aws> = named(
  section(
    {
      service: part("a service's name, such as ses or bedrock").describe(
        "The service's name in its signatures, such as ses or bedrock.",
      ),
      region: part("a region, such as eu-central-1").describe("The region, such as eu-central-1."),
      access_key_id: source("the access key's id").describe("Where the id of the access key is found."),
      secret_access_key: source("the secret access key").describe("Where the secret access key is found."),
      session_token: source("the session token")
        .optional()
        .describe("Where the token of temporary keys is found."),
    },
    "a mapping of service, region, access_key_id, secret_access_key and, if needed, session_token",
  ).describe(
    "Each request is signed with the keys, which are not sent (AWS Signature Version 4). The host, Content-Type and all X-Amz headers are signed.",
  ),
  { secret_access_key: "secret" },
  { kind: "aws" },
);

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
    client_id: noted(text("a client's id", 256), { example: "unset", isUser: true }).describe(
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

const oauth2: z.ZodType<OAuth2> = decoded(
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
);

export const AUTH: readonly Section[] = [
  {
    at: "auth",
    shape: { aws },
    sends: ["authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"],
  },
  {
    at: "auth",
    shape: { oauth2 },
    sends: ["authorization"],
    // A token request counts against its upstream's budgets where it names none, and takes the same proxy.
    ofUpstream: ({ auth, budgets, proxy }) => {
      if (auth.kind !== "oauth2") return {};
      const { token } = auth;
      return {
        auth: {
          ...auth,
          token: { ...token, budgets: token.budgets.length > 0 ? token.budgets : budgets, proxy },
        },
      };
    },
    warnings: ({ upstreams }) =>
      upstreams.flatMap(({ name, auth }, index) =>
        auth.kind === "oauth2" && isCleartext(auth.token.url)
          ? [
              {
                ...complain(
                  ["upstreams", index, "auth", "oauth2", "token_url"],
                  `upstream "${name}" sends its client secret unencrypted: use https://`,
                ),
                exposesKey: true,
              },
            ]
          : [],
      ),
  },
];
