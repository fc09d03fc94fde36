import { expect, test } from "vitest";
import { certificates } from "../../support/certificates.ts";
import { loadText, refusals, withUpstream } from "../config-file.ts";

const made = certificates();

function tls(files: Readonly<Record<string, string>>): string {
  return withUpstream(`tls: ${JSON.stringify(files)}`);
}

test("certificates and their keys are read before anything starts", async () => {
  const files = { ca_file: made.ca.certFile, cert_file: made.client.certFile, key_file: made.client.keyFile };
  expect((await loadText(tls(files))).kind).toBe("loaded");
});

test("a key that belongs to another certificate is refused", async () => {
  const files = { cert_file: made.client.certFile, key_file: made.server.keyFile };
  expect(await refusals(tls(files))).toEqual([
    expect.stringMatching(
      /"upstreams\[0\]\.tls\.key_file" must contain the PEM key of cert_file, without a passphrase$/,
    ),
  ]);
});

test("a key where a certificate belongs is refused without being shown", async () => {
  const files = { ca_file: made.ca.keyFile, cert_file: made.client.keyFile, key_file: made.client.keyFile };
  expect(await refusals(tls(files))).toEqual([
    expect.stringMatching(/"upstreams\[0\]\.tls\.ca_file" must contain a PEM certificate$/),
    expect.stringMatching(/"upstreams\[0\]\.tls\.cert_file" must contain a PEM certificate$/),
  ]);
});
