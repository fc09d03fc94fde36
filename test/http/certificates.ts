import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { requireBinary } from "../support/processes/binaries.ts";

export const OPENSSL: string | undefined = requireBinary("openssl");

const KEYS = {
  ec: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
  rsa: ["-newkey", "rsa:2048"],
} as const;

type CertificateOptions = {
  /** Another of the same directory. Without one, it signs itself. */
  readonly signer?: string;
  readonly key?: keyof typeof KEYS;
};

/** Writes NAME.crt and NAME.key. */
export function writeCertificate(
  directory: string,
  name: string,
  { signer, key = "ec" }: CertificateOptions = {},
): void {
  const issuer =
    signer === undefined
      ? []
      : ["-CA", join(directory, `${signer}.crt`), "-CAkey", join(directory, `${signer}.key`)];
  const extensions = ["-addext", "subjectAltName=IP:127.0.0.1"];
  const files = ["-keyout", join(directory, `${name}.key`), "-out", join(directory, `${name}.crt`)];
  const request = [
    "req",
    "-x509",
    ...KEYS[key],
    "-nodes",
    "-days",
    "2",
    "-subj",
    `/CN=${name}`,
    ...extensions,
    ...issuer,
    ...files,
  ];
  if (OPENSSL !== undefined) execFileSync(OPENSSL, request, { stdio: "ignore" });
}

export function readPem(directory: string, file: string): string {
  return readFileSync(join(directory, file), "utf8");
}
