import { matching, named, section } from "../../../config/keys/leaves.ts";
import { noted } from "../../../config/keys/notes.ts";
import type { AuthKind, AuthOf } from "./kind.ts";
import { source } from "./source.ts";

const part = (phrase: string): ReturnType<typeof matching> =>
  noted(matching(/^[a-z0-9][a-z0-9-]{0,63}$/, phrase), { example: "unset" });

export const aws: AuthKind<AuthOf<"aws">> = {
  schema: named(
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
  ),
  header: () => ["authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"],
};
