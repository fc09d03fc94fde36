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
  /** Of the client. */
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
  /** What its requests count against, each of them. */
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
