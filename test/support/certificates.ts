import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Certificates for tests, written bit by bit so that no tool need be installed and any date can be had. */

export type Identity = {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
};

export type Certificates = {
  readonly directory: string;
  /** Signs all but the stranger. */
  readonly ca: Identity;
  /** For localhost and 127.0.0.1, until `expiresAtMs`. */
  readonly server: Identity;
  readonly expiresAtMs: number;
  readonly expired: Identity;
  readonly expiredAtMs: number;
  /** For elsewhere.test. */
  readonly wrongHost: Identity;
  readonly client: Identity;
  /** For localhost, by an authority that nobody knows. */
  readonly stranger: Identity;
  /** For localhost, signed by itself. */
  readonly selfSigned: Identity;
};

const DAY_MS = 86_400_000;

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const bytes = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), body]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.from([0]), bytes);
const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));

const ECDSA_SHA256 = sequence(oid("2a8648ce3d040302"));

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(commonName)))));
}

function timeOf(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return der(0x18, Buffer.from(digits));
}

function alternativeName(name: string): Buffer {
  return isIPv4(name) ? der(0x87, Buffer.from(name.split(".").map(Number))) : der(0x82, Buffer.from(name));
}

type Request = {
  readonly commonName: string;
  readonly names: readonly string[];
  readonly notAfterMs: number;
  readonly authority: boolean;
};

let serial = 1;

const madeAtMs = Math.floor(Date.now() / 1_000) * 1_000;

function issue(
  request: Request,
  issuer: { readonly commonName: string; readonly key: KeyObject } | undefined,
) {
  const pair = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const constraints = request.authority ? [der(0x01, Buffer.from([0xff]))] : [];
  const extensions = [
    sequence(oid("551d13"), der(0x01, Buffer.from([0xff])), octets(sequence(...constraints))),
    ...(request.names.length === 0
      ? []
      : [sequence(oid("551d11"), octets(sequence(...request.names.map(alternativeName))))]),
  ];
  serial += 1;
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, serial >> 8, serial & 0xff])),
    ECDSA_SHA256,
    nameOf(issuer?.commonName ?? request.commonName),
    sequence(timeOf(madeAtMs - 400 * DAY_MS), timeOf(request.notAfterMs)),
    nameOf(request.commonName),
    pair.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions)),
  );
  const certificate = sequence(
    body,
    ECDSA_SHA256,
    bits(sign("sha256", body, issuer?.key ?? pair.privateKey)),
  );
  const base64 = certificate.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

let made: Certificates | undefined;

/** Made once in each test process; gone when it ends. */
export function certificates(): Certificates {
  made ??= makeCertificates();
  return made;
}

function makeCertificates(): Certificates {
  const directory = mkdtempSync(join(tmpdir(), "pacewatch-certificates-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const expiresAtMs = madeAtMs + 30 * DAY_MS;
  const expiredAtMs = madeAtMs - DAY_MS;

  function keep(name: string, pem: { cert: string; key: string }): Identity {
    const certFile = join(directory, `${name}.pem`);
    const keyFile = join(directory, `${name}.key`);
    writeFileSync(certFile, pem.cert);
    writeFileSync(keyFile, pem.key);
    return { ...pem, certFile, keyFile };
  }

  const root = {
    commonName: "Test Authority",
    names: [],
    notAfterMs: madeAtMs + 3_000 * DAY_MS,
    authority: true,
  };
  const local = {
    commonName: "localhost",
    names: ["localhost", "127.0.0.1"],
    notAfterMs: expiresAtMs,
    authority: false,
  };
  const ca = keep("ca", issue(root, undefined));
  const by = { commonName: root.commonName, key: createPrivateKey(ca.key) };
  const unknown = issue({ ...root, commonName: "Unknown Authority" }, undefined);
  return {
    directory,
    ca,
    expiresAtMs,
    expiredAtMs,
    server: keep("server", issue(local, by)),
    expired: keep("expired", issue({ ...local, notAfterMs: expiredAtMs }, by)),
    wrongHost: keep("wrong-host", issue({ ...local, names: ["elsewhere.test"] }, by)),
    client: keep("client", issue({ ...local, commonName: "client", names: [] }, by)),
    stranger: keep(
      "stranger",
      issue(local, { commonName: "Unknown Authority", key: createPrivateKey(unknown.key) }),
    ),
    selfSigned: keep("self-signed", issue(local, undefined)),
  };
}
