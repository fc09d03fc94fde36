/** The web config file has TLS and basic auth for Pacewatch's own port. */

export const CLIENT_AUTH_TYPES = [
  "NoClientCert",
  "RequestClientCert",
  "RequireAnyClientCert",
  "RequireClientCert",
  "VerifyClientCertIfGiven",
  "RequireAndVerifyClientCert",
] as const;
export type ClientAuthType = (typeof CLIENT_AUTH_TYPES)[number];

type TlsVersion = "TLSv1.2" | "TLSv1.3";

export type WebTls = {
  readonly clientAuth: ClientAuthType;
  /** As Node.js takes it; what the files hold, not their names. */
  readonly context: {
    readonly cert: string;
    readonly key: string;
    readonly ca?: string;
    readonly minVersion: TlsVersion;
    readonly maxVersion: TlsVersion;
    readonly honorCipherOrder: boolean;
    readonly ciphers?: string;
    readonly ecdhCurve?: string;
  };
};

export type WebConfig = {
  /** Undefined: plain HTTP. */
  readonly tls: WebTls | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Names to bcrypt hashes. */
  readonly users: ReadonlyMap<string, string>;
};
