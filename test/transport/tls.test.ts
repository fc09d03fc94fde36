import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { openTls, type TlsMaterial } from "../../src/transport/tls.ts";
import type { Tls } from "../../src/kernel/config/config.ts";
import { certificates, type Identity } from "../support/certificates.ts";
import { answer, type Script } from "../support/raw-upstream.ts";
import {
  NO_TLS_FILES,
  SHORT_MS,
  answeredOf,
  brokenOf,
  pollOnce,
  startProbe,
  startUpstream,
} from "./polling.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const made = certificates();
const trusting = { ...NO_TLS_FILES, caFile: made.ca.certFile };

const greets: Script = async (connection) => {
  await connection.request();
  connection.write(answer("{}"));
};

function as({ cert, key }: Identity): { cert: string; key: string } {
  return { cert, key };
}

test("over TLS the handshake has a phase, and the certificate's expiry is known", async () => {
  const upstream = await startUpstream(greets, { tls: as(made.server) });
  const observation = await pollOnce(upstream, { tls: trusting });
  expect(answeredOf(observation).head.status).toBe(200);
  expect(Object.keys(observation.phasesMs)).toEqual(["connect", "tls", "wait", "transfer"]);
  expect(observation.certificateExpiresAtMs).toBe(made.expiresAtMs);
});

test("the way through a proxy has the same roots, and its own context only where we have a certificate", async () => {
  const open = (files: Tls): Promise<TlsMaterial> => openTls(files, 0, () => {});
  const without = (await open(trusting)).contexts();
  expect(without.upstream).toBe(without.proxy);
  expect((await open(trusting)).contexts()).toBe(without);
  const { certFile, keyFile } = made.server;
  const withOne = (await open({ ...trusting, certFile, keyFile })).contexts();
  expect(withOne.upstream).not.toBe(withOne.proxy);
});

test("a name is asked for in the handshake, an address is not", async () => {
  const names: string[] = [];
  const SNICallback = (name: string, done: (error: null, context: undefined) => void): void => {
    names.push(name);
    done(null, undefined);
  };
  const upstream = await startUpstream(greets, { tls: { ...as(made.server), SNICallback } });
  await pollOnce(upstream, { tls: trusting });
  await pollOnce(upstream, { tls: { ...trusting, serverName: "localhost" } }).catch(() => undefined);
  expect(names).toEqual(["localhost"]);
});

test("a chain expires with the first of its certificates", async () => {
  const chain = { cert: made.server.cert + made.ca.cert, key: made.server.key };
  const upstream = await startUpstream(greets, { tls: chain });
  const { certificateExpiresAtMs } = await pollOnce(upstream, { tls: trusting });
  expect(certificateExpiresAtMs).toBe(made.expiresAtMs);
});

test.each<[string, Identity, string, number]>([
  ["has expired", made.expired, "CERT_HAS_EXPIRED", made.expiredAtMs],
  ["is for another host", made.wrongHost, "ERR_TLS_CERT_ALTNAME_INVALID", made.expiresAtMs],
  ["comes from nobody we trust", made.stranger, "UNABLE_TO_VERIFY_LEAF_SIGNATURE", made.expiresAtMs],
  ["is signed by itself", made.selfSigned, "DEPTH_ZERO_SELF_SIGNED_CERT", made.expiresAtMs],
])(
  "a certificate that %s is rejected before anything is sent, and its expiry is known",
  async (_is, identity, code, endMs) => {
    const upstream = await startUpstream(greets, { tls: as(identity) });
    const observation = await pollOnce(upstream, { tls: trusting });
    expect(brokenOf(observation)).toMatchObject({
      fault: "tls",
      sent: false,
      detail: `the certificate of 127.0.0.1 was rejected: ${code}`,
    });
    expect(observation.certificateExpiresAtMs).toBe(endMs);
    expect(upstream.requests).toEqual([]);
  },
);

test("without a file of ours, our authority is unknown", async () => {
  const upstream = await startUpstream(greets, { tls: as(made.server) });
  expect(brokenOf(await pollOnce(upstream)).fault).toBe("tls");
});

test("another name may be asked for, and none may be verified, where the config says so", async () => {
  const elsewhere = await startUpstream(greets, { tls: as(made.wrongHost) });
  const named = await pollOnce(elsewhere, { tls: { ...trusting, serverName: "elsewhere.test" } });
  expect(answeredOf(named).head.status).toBe(200);
  const expired = await startUpstream(greets, { tls: as(made.expired) });
  const skipped = await pollOnce(expired, { tls: { ...NO_TLS_FILES, insecureSkipVerify: true } });
  expect(answeredOf(skipped).head.status).toBe(200);
  expect(skipped.certificateExpiresAtMs).toBe(made.expiredAtMs);
});

const asHttps = (url: string): string => url.replace("http:", "https:");

test.each<[string, Script]>([
  ["speaks plain HTTP", (connection) => connection.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["closes in the handshake", (connection) => connection.end()],
  ["resets in the handshake", (connection) => void connection.socket.once("data", () => connection.reset())],
  ["talks nonsense", (connection) => connection.write("\u0016\u0003\u0003\u0000\u0004nope")],
])("an upstream that %s breaks TLS", async (_does, script) => {
  const upstream = await startUpstream(script);
  expect(brokenOf(await pollOnce(upstream, { url: asHttps(upstream.url) }))).toMatchObject({
    fault: "tls",
    sent: false,
  });
});

test("a handshake that stalls is given up at the deadline, its socket too", async () => {
  const clock = new VirtualClock();
  const upstream = await startUpstream(({ socket }) => void socket.once("data", () => clock.stall(SHORT_MS)));
  const changes = { url: asHttps(upstream.url), timeoutMs: SHORT_MS };
  const observation = await pollOnce(upstream, changes, { clock });
  expect(brokenOf(observation)).toMatchObject({
    fault: "timeout",
    sent: false,
    detail: `timed out after ${SHORT_MS} ms while in the TLS handshake`,
  });
  expect(Object.keys(observation.phasesMs)).toEqual(["connect", "tls"]);
});

test("an encrypted request that is given up leaves no socket, nor does a reset answer", async () => {
  const clock = new VirtualClock();
  const silent = await startUpstream(
    async (connection) => {
      await connection.request();
      clock.stall(SHORT_MS);
    },
    { tls: as(made.server) },
  );
  const given = brokenOf(await pollOnce(silent, { tls: trusting, timeoutMs: SHORT_MS }, { clock }));
  expect(given).toMatchObject({ fault: "timeout", sent: true });
  const closing = await startUpstream(
    async (connection) => {
      await connection.request();
      connection.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{");
    },
    { tls: as(made.server) },
  );
  expect(brokenOf(await pollOnce(closing, { tls: trusting })).fault).toBe("reset");
});

const demanding = { ...as(made.server), ca: made.ca.cert, requestCert: true, rejectUnauthorized: true };

test.each(["TLSv1.2", "TLSv1.3"] as const)(
  "over %s an upstream that wants our certificate gets it",
  async (version) => {
    const tls = { ...demanding, minVersion: version, maxVersion: version };
    const upstream = await startUpstream(greets, { tls });
    const mutual = { ...trusting, certFile: made.client.certFile, keyFile: made.client.keyFile };
    expect(answeredOf(await pollOnce(upstream, { tls: mutual })).head.status).toBe(200);
  },
);

test("an upstream that wants our certificate in vain breaks TLS, in TLS 1.2 during the handshake", async () => {
  const upstream = await startUpstream(greets, { tls: { ...demanding, maxVersion: "TLSv1.2" } });
  expect(brokenOf(await pollOnce(upstream, { tls: trusting }))).toMatchObject({ fault: "tls", sent: false });
});

test("in TLS 1.3 its refusal comes only after the request was written, and is still one of TLS", async () => {
  const upstream = await startUpstream(greets, { tls: { ...demanding, minVersion: "TLSv1.3" } });
  const broken = brokenOf(await pollOnce(upstream, { tls: trusting }));
  expect(broken.sent).toBe(true);
  // The alert can be overtaken by the reset of a connection on which our request still lies unread.
  expect(["tls", "reset"]).toContain(broken.fault);
});

test("files that cannot be used are reported when the probe opens", async () => {
  const garbage = join(made.directory, "garbage.pem");
  writeFileSync(garbage, "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n");
  const empty = join(made.directory, "empty.pem");
  writeFileSync(empty, "");
  const missing = join(made.directory, "missing.pem");
  await expect(startProbe({ tls: { ...NO_TLS_FILES, caFile: missing } })).rejects.toThrow(
    `cannot use TLS: "tls.ca_file" must be a readable file, received ${missing} (ENOENT)`,
  );
  for (const caFile of [garbage, empty, made.ca.keyFile]) {
    await expect(startProbe({ tls: { ...NO_TLS_FILES, caFile } })).rejects.toThrow(
      'cannot use TLS: "tls.ca_file" must hold PEM certificates',
    );
  }
  const mixed = { ...NO_TLS_FILES, certFile: made.client.certFile, keyFile: made.server.keyFile };
  await expect(startProbe({ tls: mixed })).rejects.toThrow('cannot use TLS: "tls.cert_file" and');
});

test("authorities that change on disk are trusted without a restart; a half-written file changes nothing", async () => {
  const caFile = join(made.directory, "rotating.pem");
  // In one step: a look that is under way sees the old or the new, and nothing between.
  const replace = (text: string): void => {
    writeFileSync(`${caFile}.new`, text);
    renameSync(`${caFile}.new`, caFile);
  };
  replace(made.stranger.cert);
  const upstream = await startUpstream(greets, { tls: as(made.server) });
  let skippedMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + skippedMs };
  const tls = { ...NO_TLS_FILES, caFile };
  const warnings: string[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  const probe = await startProbe({ url: upstream.url, tls }, { clock, onWarning });
  const poll = async (): Promise<string> => {
    const { exchange } = await probe.poll(new AbortController().signal);
    return exchange.kind === "answered" ? "answered" : exchange.fault;
  };
  expect(await poll()).toBe("tls");
  replace(made.ca.cert);
  expect(await poll()).toBe("tls");
  skippedMs = 11_000;
  await expect.poll(poll, { timeout: 60_000 }).toBe("answered");
  // A poll that comes while the files are still being read does not read them again: the next one does.
  const warned = async (times: number): Promise<void> => {
    const pollAndLook = async (): Promise<readonly string[]> => {
      await poll();
      return warnings;
    };
    await expect.poll(pollAndLook, { timeout: 60_000 }).toHaveLength(times);
  };
  // Of the second, one certificate is whole: not the one that signed.
  const halves = ["half a certi", `${made.stranger.cert}${made.ca.cert.slice(0, -60)}`];
  for (const [index, half] of halves.entries()) {
    replace(half);
    skippedMs += 11_000;
    await warned(index + 1);
    skippedMs += 11_000;
    await poll();
    expect(await poll()).toBe("answered");
  }
  replace(made.ca.cert);
  skippedMs += 11_000;
  await warned(3);
  const refused = 'cannot use TLS: "tls.ca_file" must hold PEM certificates, received';
  expect(warnings).toEqual([
    `${refused} none; what was read last is kept`,
    `${refused} a part of one; what was read last is kept`,
    "the TLS files can be used again",
  ]);
});

test("a session is not resumed: every handshake is a whole one", async () => {
  const reused: boolean[] = [];
  const upstream = await startUpstream(
    async (connection) => {
      await connection.request();
      if ("isSessionReused" in connection.socket && typeof connection.socket.isSessionReused === "function") {
        reused.push(connection.socket.isSessionReused());
      }
      connection.write(answer("{}"));
    },
    { tls: { ...as(made.server), secureContext: createSecureContext(as(made.server)) } },
  );
  const probe = await startProbe({ url: upstream.url, tls: trusting });
  for (let poll = 0; poll < 3; poll += 1) answeredOf(await probe.poll(new AbortController().signal));
  expect(reused).toEqual([false, false, false]);
});
