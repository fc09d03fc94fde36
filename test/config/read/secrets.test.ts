import { expect, test } from "vitest";
import { proxyPasswords } from "../../../src/config/read/secrets.ts";
import { loaded, withUpstream } from "../config-file.ts";

test("the variables that hold a secret are those of the keys, and of the proxies with a password", async () => {
  const environment = {
    TEST_KEY: "test-key-1",
    OTHER: "not-ours",
    HTTP_PROXY: "http://user:test-password@proxy.example.test:3128",
    https_proxy: "user:test%40password@proxy.example.test",
    ALL_PROXY: "http://proxy.example.test:3128/a@b",
    no_proxy: "localhost",
  };
  expect([...proxyPasswords(environment)]).toEqual([
    ["HTTP_PROXY", "test-password"],
    ["https_proxy", "test@password"],
  ]);
  const { secretVariables } = await loaded(withUpstream("auth: { bearer: { env: TEST_KEY } }"), environment);
  expect(secretVariables).toEqual(["TEST_KEY", "HTTP_PROXY", "https_proxy"]);
  const signing =
    "service: ses, region: eu-west-1, access_key_id: { env: AN_ID }, secret_access_key: { env: A_KEY }";
  for (const [more, names] of [
    ["", ["AN_ID", "A_KEY"]],
    [", session_token: { env: A_TOKEN }", ["AN_ID", "A_KEY", "A_TOKEN"]],
  ] as const) {
    const all = { AN_ID: "test-key-2", A_KEY: "test-key-3", A_TOKEN: "test-key-4" };
    const signed = await loaded(withUpstream(`auth: { aws: { ${signing}${more} } }`), all);
    expect(signed.secretVariables).toEqual(names);
  }
});
