import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebConfigFile } from "../../../src/config/web/file.ts";
import type { Opened } from "../../../src/platform/opened.ts";
import type { WebConfig } from "../../../src/kernel/config/web-config.ts";
import { OPENSSL, writeCertificate } from "../../http/certificates.ts";

let directory = "";

async function load(text: string): Promise<Opened<WebConfig>> {
  const path = join(directory, "web.yaml");
  writeFileSync(path, text);
  return new WebConfigFile(path).read();
}

async function faultsOf(text: string): Promise<readonly string[]> {
  const loaded = await load(text);
  return loaded.kind === "refused" ? loaded.faults.map((fault) => fault.replaceAll(`${directory}/`, "")) : [];
}

const TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";
const HASH = hashSync("test-password", 4);

describe.skipIf(OPENSSL === undefined)("a web config", () => {
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "pacewatch-web-config-"));
    writeCertificate(directory, "server");
    writeCertificate(directory, "other");
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test.each(["{}", "http_server_config:\n", "basic_auth_users: {}\n"])(
    "that says so (%j) asks for nothing",
    async (text) => {
      const loaded = await load(text);
      expect(loaded).toMatchObject({ kind: "opened", what: { tls: undefined, headers: {} } });
      expect(loaded.kind === "opened" && loaded.what.users.size).toBe(0);
    },
  );

  test.each([
    ["", "web.yaml:1:1: the web config is empty: write {} to serve everybody, over plain HTTP"],
    ["# nothing\n", "web.yaml:1:1: the web config is empty: write {} to serve everybody, over plain HTTP"],
    [
      "http_server_config:\nbasic_auth_users:\n",
      'web.yaml:2:1: "basic_auth_users" must be a mapping of names to bcrypt hashes, received nothing',
    ],
    ["tls_server_config:\n", 'web.yaml:1:1: "tls_server_config" must be a mapping, received nothing'],
  ])("that may be cut short (%j) opens no door", async (text, fault) => {
    expect(await faultsOf(text)).toEqual([fault]);
  });

  test.each([
    ["empty", (): string => ""],
    ["garbage", (): string => "no certificate"],
    ["cut short", (pem: string): string => pem.slice(0, -40)],
    ["cut short in its second", (pem: string): string => pem + pem.slice(0, 200)],
  ])("whose client_ca_file is %s is refused", async (_, damage) => {
    const good = readFileSync(join(directory, "other.crt"), "utf8");
    writeFileSync(join(directory, "ca.crt"), damage(good));
    const text = `${TLS}  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n`;
    expect(await faultsOf(text)).toEqual([
      'web.yaml:5:19: "tls_server_config.client_ca_file" must contain a PEM certificate',
    ]);
    writeFileSync(join(directory, "ca.crt"), good + good);
    expect(await faultsOf(text)).toEqual([]);
  });

  test("in full is understood, with files beside it", async () => {
    const loaded = await load(
      `${TLS}  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: other.crt
  min_version: TLS13
  max_version: TLS13
  prefer_server_cipher_suites: false
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
  curve_preferences: [X25519, CurveP256]
http_server_config:
  http2: false
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=60
    Content-Security-Policy: ""
basic_auth_users:
  alice: ${HASH}
  123: ${HASH.replace("$2b$", "$2y$")}
`,
    );
    expect(loaded).toMatchObject({
      kind: "opened",
      what: {
        tls: {
          clientAuth: "RequireAndVerifyClientCert",
          context: {
            minVersion: "TLSv1.3",
            maxVersion: "TLSv1.3",
            honorCipherOrder: false,
            ecdhCurve: "X25519:P-256",
            ciphers: expect.stringMatching(/^TLS_AES_128_GCM_SHA256:.*:ECDHE-RSA-AES128-GCM-SHA256$/),
          },
        },
        headers: { "X-Frame-Options": "deny", "Strict-Transport-Security": "max-age=60" },
      },
    });
    const users = loaded.kind === "opened" ? [...loaded.what.users.keys()] : [];
    expect(users.sort()).toEqual(["123", "alice"]);
  });

  test("has no variables: ${NAME} is plain text in it", async () => {
    const loaded = await load('http_server_config: { headers: { Content-Security-Policy: "${NAME" } }');
    expect(loaded).toMatchObject({ what: { headers: { "Content-Security-Policy": "${NAME" } } });
  });

  test("that is wrong in many places is told them all, each with its place", async () => {
    const text = `tls_server_config:
  cert_file: server.crt
  min_version: TLS11
  client_allowed_sans: [a]
http_server_config:
  http2: maybe
  headers:
    X-Frame-Options: allow
    X-Other: 1
rate_limit: {}
basic_auth_users:
  alice: test-password
  "bob:": ${HASH}
`;
    expect([...(await faultsOf(text))].sort()).toEqual(
      [
        'web.yaml:1:1: "tls_server_config.key_file" is missing: it must be a file\'s path',
        'web.yaml:3:16: "tls_server_config.min_version" must be one of TLS12, TLS13, received "TLS11"',
        'web.yaml:4:3: unknown key "client_allowed_sans" in "tls_server_config": allowed are cert_file, key_file, client_auth_type, client_ca_file, min_version, max_version, cipher_suites, prefer_server_cipher_suites, curve_preferences',
        'web.yaml:6:10: "http_server_config.http2" must be true or false, received "maybe"',
        'web.yaml:8:22: "http_server_config.headers.X-Frame-Options" must be deny or sameorigin, received "allow"',
        'web.yaml:9:5: unknown key "X-Other" in "http_server_config.headers": allowed are Content-Security-Policy, X-Frame-Options, X-Content-Type-Options, X-XSS-Protection, Strict-Transport-Security',
        'web.yaml:10:1: unknown key "rate_limit": allowed are tls_server_config, http_server_config, basic_auth_users',
        'web.yaml:12:10: "basic_auth_users.alice" must be a bcrypt hash, as htpasswd -nBC 10 NAME prints it, received a string of 13 characters',
        'web.yaml:13:3: key of 4 characters in "basic_auth_users" must be a user\'s name without a colon',
      ].sort(),
    );
  });

  test.each([
    ["- a\n", "web.yaml:1:1: the config must be a mapping, received a list"],
    [
      "http_server_config: {}\nhttp_server_config: {}\n",
      'web.yaml:2:1: duplicate key "http_server_config": it is in line 1 already',
    ],
    [
      `basic_auth_users:\n  a: ${HASH.replace("$04$", "$17$")}\n`,
      'web.yaml:2:6: "basic_auth_users.a" must be a bcrypt hash of cost 16 at most, received a string of 60 characters',
    ],
    [
      `${TLS}  client_auth_type: RequireAndVerifyClientCert\n`,
      'web.yaml:1:1: "tls_server_config.client_ca_file" is missing: it must be a file\'s path where client_auth_type is RequireAndVerifyClientCert',
    ],
    [
      `${TLS}  client_ca_file: other.crt\n`,
      'web.yaml:1:1: "tls_server_config.client_auth_type" is missing: it must be one that asks for a certificate where client_ca_file is set',
    ],
    [
      `${TLS}  min_version: TLS13\n  max_version: TLS12\n`,
      'web.yaml:4:16: "tls_server_config.min_version" must be at most max_version, received "TLS13"',
    ],
    [
      `${TLS}  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n`,
      expect.stringMatching(/^web\.yaml:4:19: "tls_server_config\.cipher_suites\[0\]" must be one of TLS_/),
    ],
    ["%YAML 1.1\n---\n{}\n", "web.yaml:1:1: cannot read YAML: directives (%) are not used here"],
    ["basic_auth_users: !users {}\n", "web.yaml:1:26: tags (!) are not used here"],
    [
      'http_server_config: { headers: { Content-Security-Policy: "a\\r\\nX: b" } }',
      'web.yaml:1:59: "http_server_config.headers.Content-Security-Policy" must be one line of plain text, received a string of 7 characters',
    ],
  ])("refuses %j", async (text, fault) => expect(await faultsOf(text)).toEqual([fault]));

  test("refuses an alias bomb instead of growing", async () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `${level}: &a${level + 1} [${`*a${level},`.repeat(9)}]`,
    );
    const faults = await faultsOf(`x: &a0 [x]\n${levels.join("\n")}\n`);
    expect(faults.join("\n")).toMatch(
      /^web\.yaml:\d+:\d+: the file must have at most 100000 values, aliases \(\*\) counted in full$/m,
    );
  });

  test("never repeats what may be a password or a key", async () => {
    const texts = [
      "basic_auth_users:\n  alice: test-password\n",
      "basic_auth_users: test-password\n",
      "basic_auth_users:\n  alice: [test-password]\n",
      "basic_auth_users:\n  alice: test-password\n  alice: 'test-password\n",
      "basic_auth_users:\n  alice: 'x' test-password\n",
      "tls_server_config:\n  key: test-password\n",
      "$2b$04$test-password: alice\n",
      'http_server_config: { headers: { X-Frame-Options: "$2b$04$test-password" } }',
      "tls_server_config:\n  cert_file: a\n  key_file: |\n    -----BEGIN\n    test-password\n",
    ];
    for (const text of texts) {
      const faults = await faultsOf(text);
      expect(faults.length).toBeGreaterThan(0);
      expect(faults.join("\n")).not.toContain("test-password");
    }
  });

  test("whose files are missing, no certificates or not of one kind is refused", async () => {
    expect(await faultsOf(TLS.replace("server.crt", "none.crt"))).toEqual([
      'web.yaml:2:14: "tls_server_config.cert_file" must be a readable file: there is no such file: none.crt',
    ]);
    expect(await faultsOf(TLS.replace("server.crt", "web.yaml"))).toEqual([
      'web.yaml:2:14: "tls_server_config.cert_file" must contain a PEM certificate',
    ]);
    expect(await faultsOf(TLS.replace("server.key", "other.key"))).toEqual([
      'web.yaml:3:13: "tls_server_config.key_file" must contain the PEM key of cert_file, without a passphrase',
    ]);
    expect(
      await faultsOf(`${TLS}  client_auth_type: RequestClientCert\n  client_ca_file: server.key\n`),
    ).toEqual(['web.yaml:5:19: "tls_server_config.client_ca_file" must contain a PEM certificate']);
    const none = join(directory, "none.yaml");
    expect(await new WebConfigFile(none).read()).toEqual({
      kind: "refused",
      faults: [`${none}:1:1: cannot read web config: there is no such file`],
    });
  });
});
