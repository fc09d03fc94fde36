import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, TLSSocket } from "node:tls";
import { hashSync } from "bcryptjs";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { RunningServer, StartOptions } from "../../../src/http/server/server.ts";
import { WebConfigFile } from "../../../src/config/web/file.ts";
import { OPENSSL, readPem, writeCertificate } from "../certificates.ts";
import { openServer } from "../open-server.ts";
import { eventually } from "../../support/eventually.ts";

let directory = "";
let warnings: string[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "pacewatch-tls-"));
  warnings = [];
  return () => rmSync(directory, { recursive: true });
});

const TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";

function writeConfig(text: string): void {
  writeFileSync(join(directory, "web.yaml"), text);
}

async function start(text: string, over: Partial<StartOptions> = {}): Promise<RunningServer> {
  writeConfig(text);
  return openServer({
    webConfig: new WebConfigFile(join(directory, "web.yaml")),
    onWarning: (message) => warnings.push(message),
    webConfigRecheckMs: 20,
    ...over,
  });
}

type Visit = { readonly status: number; readonly certificate: string; readonly protocol: string };

/** On a connection of its own; rejects where the server hangs up. */
function visit(
  url: string,
  options: { client?: string; version?: "TLSv1.2"; cipher?: string } = {},
): Promise<Visit> {
  const { promise, resolve, reject } = Promise.withResolvers<Visit>();
  const { client, version, cipher } = options;
  const sent = request(
    `${url}/metrics`,
    {
      agent: false,
      rejectUnauthorized: false,
      ...(client !== undefined && {
        cert: readPem(directory, `${client}.crt`),
        key: readPem(directory, `${client}.key`),
      }),
      ...(version !== undefined && { maxVersion: version }),
      ...(cipher !== undefined && { ciphers: cipher }),
    },
    (answer) => {
      if (!(answer.socket instanceof TLSSocket)) return;
      const certificate = String(answer.socket.getPeerCertificate().subject.CN);
      const protocol = answer.socket.getProtocol() ?? "";
      answer.resume();
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, certificate, protocol }));
    },
  );
  sent.once("error", reject);
  sent.end();
  return promise;
}

describe.skipIf(OPENSSL === undefined)("a server with a certificate", () => {
  beforeEach(() => writeCertificate(directory, "server"));

  test("speaks HTTPS only, and says so in its url", async () => {
    const { url } = await start(TLS);
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await visit(url)).toMatchObject({ status: 200, certificate: "server", protocol: "TLSv1.3" });
    await expect(fetch(url.replace("https:", "http:"))).rejects.toThrow("fetch failed");
  });

  test("keeps to the versions and ciphers that it is given", async () => {
    const modern = await start(`${TLS}  min_version: TLS13\n`);
    await expect(visit(modern.url, { version: "TLSv1.2" })).rejects.toThrow(/alert protocol version/);
    const narrow = await start(`${TLS}  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n`);
    expect((await visit(narrow.url)).protocol).toBe("TLSv1.3");
    expect((await visit(narrow.url, { version: "TLSv1.2" })).protocol).toBe("TLSv1.2");
    const refused = visit(narrow.url, { version: "TLSv1.2", cipher: "ECDHE-ECDSA-AES128-GCM-SHA256" });
    await expect(refused).rejects.toThrow(/handshake failure/);
  });

  test("adds the headers of its file, which win over its own", async () => {
    const server = await start(
      "http_server_config:\n  headers:\n    Content-Security-Policy: default-src 'self'\n",
    );
    const answer = await fetch(`${server.url}/nope`);
    expect(answer.headers.get("content-security-policy")).toBe("default-src 'self'");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("closes without waiting for a handshake that never comes", async () => {
    const { url, close } = await start(TLS);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    socket.once("close", () => resolve("ended"));
    socket.on("error", () => {});
    socket.resume();
    await once(socket, "connect");
    await close();
    expect(await ended).toBe("ended");
  });
});

describe.skipIf(OPENSSL === undefined)("client certificates", () => {
  beforeEach(() => {
    writeCertificate(directory, "server");
    writeCertificate(directory, "authority");
    writeCertificate(directory, "friend", { signer: "authority" });
    writeCertificate(directory, "stranger");
  });

  test.each([
    ["NoClientCert", false, "none stranger friend"],
    ["RequestClientCert", false, "none stranger friend"],
    ["RequireAnyClientCert", false, "stranger friend"],
    ["RequireClientCert", false, "stranger friend"],
    ["VerifyClientCertIfGiven", true, "none friend"],
    ["RequireAndVerifyClientCert", true, "friend"],
  ])("under %s let in whom they should", async (policy, verifies, expected) => {
    const ca = verifies ? "  client_ca_file: authority.crt\n" : "";
    const { url } = await start(`${TLS}  client_auth_type: ${policy}\n${ca}`);
    const visits = ["none", "stranger", "friend"].map(async (client) => {
      try {
        const { status } = await visit(url, client === "none" ? {} : { client });
        return status === 200 ? client : "";
      } catch {
        return "";
      }
    });
    expect((await Promise.all(visits)).filter((client) => client !== "").join(" ")).toBe(expected);
  });
});

describe.skipIf(OPENSSL === undefined)("while it runs", () => {
  beforeEach(() => {
    writeCertificate(directory, "server");
    writeCertificate(directory, "next");
  });

  async function shows(url: string, certificate: string): Promise<void> {
    await eventually(
      `the certificate of ${certificate} is shown`,
      async () => (await visit(url)).certificate === certificate,
    );
  }

  test("a new certificate is shown to the next connection, and open ones live on", async () => {
    const { url } = await start(TLS);
    const old = connectTls({ port: Number(new URL(url).port), host: "127.0.0.1", rejectUnauthorized: false });
    onTestFinished(() => void old.destroy());
    await once(old, "secureConnect");
    copyFileSync(join(directory, "next.key"), join(directory, "server.key"));
    copyFileSync(join(directory, "next.crt"), join(directory, "server.crt"));
    await shows(url, "next");
    old.write("GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n");
    const [data] = await new Promise<[Buffer]>((resolve) =>
      old.once("data", (chunk: Buffer) => resolve([chunk])),
    );
    expect(data.toString()).toMatch(/^HTTP\/1\.1 200/);
  });

  test("every swap of a linked directory is seen, as Kubernetes swaps them", async () => {
    const swap = (version: string): void => {
      symlinkSync(version, join(directory, "..tmp"));
      renameSync(join(directory, "..tmp"), join(directory, "..data"));
    };
    for (const version of ["server", "next"]) {
      mkdirSync(join(directory, `..${version}`));
      for (const extension of ["crt", "key"])
        copyFileSync(
          join(directory, `${version}.${extension}`),
          join(directory, `..${version}`, `tls.${extension}`),
        );
    }
    for (const file of ["tls.crt", "tls.key"]) symlinkSync(join("..data", file), join(directory, file));
    swap("..server");
    const { url } = await start(TLS.replaceAll("server.", "tls."));
    for (const version of ["next", "server", "next", "server"]) {
      swap(`..${version}`);
      await shows(url, version);
    }
    expect(warnings).toEqual([]);
  });

  test("a certificate that cannot be used leaves the old one, with one warning", async () => {
    const { url } = await start(TLS);
    writeFileSync(join(directory, "server.crt"), "no certificate");
    await eventually("a warning is given", () => warnings.length > 0);
    expect((await visit(url)).certificate).toBe("server");
    rmSync(join(directory, "server.crt"));
    await eventually("a second warning is given", () => warnings.length > 1);
    // Many more looks at the same missing file.
    for (let count = 0; count < 20; count += 1) expect((await visit(url)).certificate).toBe("server");
    expect(warnings.length).toBe(2);
    expect(warnings[0]).toMatch(
      /^cannot use the changed web config, keeping the old one: .*cert_file" must contain a PEM certificate$/,
    );
    copyFileSync(join(directory, "next.key"), join(directory, "server.key"));
    copyFileSync(join(directory, "next.crt"), join(directory, "server.crt"));
    await shows(url, "next");
  });

  test("TLS is not switched off by an edit, nor client certificates on", async () => {
    const { url } = await start(TLS);
    writeConfig("{}");
    await eventually("a warning is given", () => warnings.length > 0);
    expect(warnings[0]).toContain("TLS can only be switched on or off by a restart");
    writeConfig(`${TLS}  client_auth_type: RequireAnyClientCert\n`);
    await eventually("a second warning is given", () => warnings.length > 1);
    expect(warnings[1]).toContain('"client_auth_type" can only be changed by a restart');
    expect((await visit(url)).status).toBe(200);
  });

  test("users come, change and go with the file", async () => {
    const changes: unknown[] = [];
    const { url } = await start("basic_auth_users: {}\n", {
      onWebConfigChange: (change) => changes.push(change),
    });
    const status = async (password?: string, path = "/metrics"): Promise<number> => {
      const headers = password === undefined ? {} : { Authorization: `Basic ${btoa(`alice:${password}`)}` };
      return (await fetch(`${url}${path}`, { headers })).status;
    };
    const becomes = (expected: number, password?: string): Promise<boolean> =>
      eventually(`the answer is ${expected}`, async () => (await status(password)) === expected);
    expect(await status()).toBe(200);
    writeConfig(`basic_auth_users:\n  alice: ${hashSync("test-password-1", 4)}\n`);
    await becomes(401);
    expect(await status("test-password-1")).toBe(200);
    expect(await status(undefined, "/-/healthy")).toBe(200);
    writeConfig(`basic_auth_users:\n  alice: ${hashSync("test-password-2", 4)}\n`);
    await becomes(200, "test-password-2");
    expect(await status("test-password-1")).toBe(401);
    writeConfig("basic_auth_users:\n  alice: test-password-3\n");
    await eventually("a warning is given", () => warnings.length > 0);
    expect(warnings.join("")).not.toContain("test-password-3");
    expect(await status("test-password-2")).toBe(200);
    writeConfig(`basic_auth_users:\n  bob: ${hashSync("test-password-4", 4)}\n`);
    await becomes(401, "test-password-2");
    expect(changes).toEqual([
      ["users added: alice"],
      ["users changed: alice"],
      ["users added: bob", "users removed: alice"],
    ]);
  });

  test.each([
    ["emptied", (): string => ""],
    ["cut before its first user", (text: string): string => text.slice(0, text.indexOf("  alice"))],
    ["cut before its users", (text: string): string => text.slice(0, text.indexOf("basic_auth"))],
    ["cut within a hash", (text: string): string => text.slice(0, -10)],
    ["told that there are none", (): string => "{}"],
  ])("a file that is %s opens no door, and it is told", async (_, damage) => {
    const users = `http_server_config: {}\nbasic_auth_users:\n  alice: ${hashSync("test-password", 4)}\n`;
    const { url } = await start(users);
    writeConfig(damage(users));
    await eventually("a warning is given", () => warnings.length > 0);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect(warnings[0]).toMatch(/^cannot use the changed web config, keeping the old one: /);
  });

  test("a file is not used while it is written", async () => {
    const hash = hashSync("test-password", 4);
    const whole = { users: new Map([["alice", hash]]), tls: undefined, headers: {} };
    // As if each of them were read in the middle of a write.
    const halves = ["bob", "carol"].map((name) => ({ ...whole, users: new Map([[name, hash]]) }));
    const written = [whole, ...halves, whole];
    let [reads, looksAfterwards] = [0, 0];
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    const changes: unknown[] = [];
    const server = await openServer({
      webConfig: {
        read: () => Promise.resolve({ kind: "opened", what: written[reads++] ?? whole }),
        hasChanged: () => {
          if (reads === written.length && (looksAfterwards += 1) === 3) resolve();
          return Promise.resolve(reads < written.length);
        },
      },
      onWarning: (message) => warnings.push(message),
      onWebConfigChange: (change) => changes.push(change),
      webConfigRecheckMs: 5,
    });
    await settled;
    await server.close();
    expect([changes, warnings]).toEqual([[], []]);
  });
});

test("a server whose web config is wrong does not start, and says all that is wrong with it", async () => {
  writeConfig("a: 1\nb: 2\n");
  const path = join(directory, "web.yaml");
  await expect(start("a: 1\nb: 2\n")).rejects.toThrow(
    new RegExp(`^${path}:1:1: unknown key "a": .*\\n${path}:2:1: unknown key "b": .*$`),
  );
});

test.skipIf(OPENSSL === undefined)("silent connections over TLS make room for those that come", async () => {
  writeCertificate(directory, "server");
  const { url } = await start(TLS, { limits: { maxConnections: 3 } });
  const port = Number(new URL(url).port);
  const ended: Promise<unknown>[] = [];
  for (let count = 0; count < 5; count += 1) {
    const client = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false }).on("error", () => {});
    onTestFinished(() => void client.destroy());
    ended.push(new Promise((resolve) => client.once("close", resolve)));
    await once(client, "secureConnect");
  }
  await Promise.all(ended.slice(0, 2));
  expect((await visit(url)).status).toBe(200);
  expect(warnings).toEqual([]);
});

/** Each of these costs the server more than the client, if it lets them go on. */
const HANDSHAKE_FLOODS: Readonly<Record<string, (port: number) => Socket>> = {
  "in records of one byte that never end": (port) => {
    const client = connect(port, "127.0.0.1");
    const record = Buffer.from([22, 3, 1, 0, 1, 1]);
    const drip = setInterval(() => client.write(record), 1);
    return client.once("close", () => clearInterval(drip));
  },
  "negotiated again and again": (port) => {
    const options = { host: "127.0.0.1", port, rejectUnauthorized: false, maxVersion: "TLSv1.2" } as const;
    const client = connectTls(options);
    const again = (): void => void client.renegotiate({ rejectUnauthorized: false }, () => again());
    return client.once("secureConnect", again);
  },
};

test.skipIf(OPENSSL === undefined).each(Object.entries(HANDSHAKE_FLOODS))(
  "handshakes %s keep nobody out",
  async (_, begin) => {
    writeCertificate(directory, "server");
    const { url } = await start(TLS, { limits: { maxConnections: 32 } });
    const port = Number(new URL(url).port);
    const clients = new Set<Socket>();
    let isOver = false;
    const besiege = (): void => {
      if (isOver) return;
      const client = begin(port);
      clients.add(client);
      client
        .on("error", () => {})
        .once("close", () => {
          clients.delete(client);
          setTimeout(besiege, 20);
        });
    };
    for (let count = 0; count < 60; count += 1) besiege();
    onTestFinished(() => {
      isOver = true;
      for (const client of clients) client.destroy();
    });
    for (let visits = 0; visits < 5; visits += 1) expect((await visit(url)).status).toBe(200);
  },
);
