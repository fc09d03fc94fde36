import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { probe } from "../../../src/commands/probe.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { accountsOf } from "../../support/metrics/slot-accounts.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import {
  type GiveToken,
  giving,
  oauth2,
  openTokenService,
  type TokenService,
} from "../../support/token-endpoint.ts";
import { load } from "../../../src/app/features/sections.ts";

/**
 * Upstreams with access tokens, by the program itself over sockets. What needs minutes is in test/features/auth. Side by
 * side, because each waits first, for as long as an earlier life may still fetch a token.
 */

const SECRET = "test-key-client+secret/%&=";
const CLIENT_SECRET = { CLIENT_SECRET: SECRET };

type Probed = { readonly code: number; readonly text: string };

async function probed(service: TokenService, changes: object = {}, others: object = {}): Promise<Probed> {
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 1_000, per: "1s" } } },
    upstreams: [
      rawUpstream("api", service.url, { auth: oauth2(service, changes), proxy: "none", ...others }),
    ],
  });
  const said = await probedWith(folder.path);
  expect(said.text).not.toContain(SECRET);
  return said;
}

async function probedWith(configPath: string): Promise<Probed> {
  let text = "";
  const say = (piece: string): void => void (text += piece);
  const command = { load, configPath, json: false, names: [], force: false, environment: CLIENT_SECRET };
  const code = await probe({ ...command, out: say, err: say });
  return { code, text };
}

test.concurrent("the client's id and secret are encoded as in a form, then sent as Basic", async () => {
  await using service = await openTokenService();
  const scopes = ["resources.read", "limits.read"];
  const { code, text } = await probed(service, { scopes, parameters: { audience: "https://a.test/?b=c" } });
  expect({ code, text }).toMatchObject({ code: 0, text: expect.stringContaining("api  ok  status 200") });
  const [{ authorization, form } = { authorization: "", form: new URLSearchParams() }] = service.asked;
  expect(Buffer.from(authorization?.slice("Basic ".length) ?? "", "base64").toString()).toBe(
    `pacewatch:${encodeURIComponent(SECRET)}`,
  );
  expect(Object.fromEntries(form)).toEqual({
    grant_type: "client_credentials",
    scope: "resources.read limits.read",
    audience: "https://a.test/?b=c",
  });
  expect(service.shown).toEqual(["test-key-token-1"]);
});

test.concurrent("or in the body", async () => {
  await using service = await openTokenService();
  expect((await probed(service, { client_auth: "body" })).code).toBe(0);
  expect(service.asked[0]?.authorization).toBeUndefined();
  expect(Object.fromEntries(service.asked[0]?.form ?? [])).toEqual({
    grant_type: "client_credentials",
    client_id: "pacewatch",
    client_secret: SECRET,
  });
});

const FAULTS: readonly (readonly [does: string, give: GiveToken, says: string])[] = [
  [
    "refuses the client and repeats its secret",
    (_, response, { authorization }) =>
      response.writeHead(401, SECRET).end(JSON.stringify({ error: "invalid_client", authorization, SECRET })),
    "the token endpoint answered 401: invalid_client",
  ],
  [
    "redirects",
    (_, response) => response.writeHead(307, { location: "/token" }).end(),
    "the token endpoint answered 307: no redirect is followed",
  ],
  [
    "sends HTML",
    (_, response) => response.end(`<html>${SECRET}</html>`),
    "the token endpoint answered 200, but its 39 B are not a JSON object",
  ],
  [
    "sends 1 MiB",
    (_, response) => response.end(JSON.stringify({ access_token: "x".repeat(1_048_576) })),
    "the body exceeds 65536 bytes, after it had answered 200",
  ],
  ["throttles us", (_, response) => response.writeHead(429, { "retry-after": "9" }).end(), "answered 429"],
  ["is broken", (_, response) => response.writeHead(500).end(SECRET), "the token endpoint answered 500"],
  [
    "hangs up",
    (_, response) => response.destroy(),
    "no access token: the connection was closed before an answer came",
  ],
];

test.concurrent.each(FAULTS)(
  "a token endpoint that %s is not taken for the upstream",
  async (_, give, says) => {
    await using service = await openTokenService(give);
    const { code, text } = await probed(service);
    expect(code).toBe(1);
    expect(text).toContain("api  rejected: auth  no answer");
    expect(text).toContain(says);
    expect(service.asked).toHaveLength(1);
    expect(service.shown).toEqual([]);
  },
);

test.concurrent("a token endpoint that cannot be reached is not taken for the upstream", async () => {
  await using service = await openTokenService();
  const { text } = await probed(service, { token_url: "http://127.0.0.1:9/token" });
  expect(text).toContain("no access token: cannot connect to 127.0.0.1:9: ECONNREFUSED");
  expect(service.shown).toEqual([]);
});

test.concurrent("deny_addresses holds for token endpoints too", async () => {
  await using service = await openTokenService();
  await using folder = await openConfigFolder(
    JSON.stringify({
      deny_addresses: ["127.0.0.0/8"],
      budgets: { api: { rate: { requests: 1_000, per: "1s" } } },
      upstreams: [rawUpstream("api", service.url, { auth: oauth2(service), proxy: "none" })],
    }),
  );
  const { text } = await probedWith(folder.path);
  expect(text).toContain("see deny_addresses");
  expect(service.asked).toEqual([]);
});

test.concurrent("upstreams share a token within the limit, a new client gets its own, and nothing says a secret", async () => {
  const limit = { requests: 20, perMs: 1_000 };
  await using service = await openTokenService(
    giving((turn) => `test-key-token-${turn}`),
    limit,
  );
  const config = (clientId: string): RawConfig => ({
    web: { enable_lifecycle: true },
    log: { level: "trace" },
    budgets: { api: { rate: { requests: limit.requests, per: "1s" }, share: "100%" } },
    upstreams: ["a", "b", "c"].map((name) =>
      rawUpstream(name, service.url, {
        auth: oauth2(service, { client_id: clientId, client_secret: { file: "client.key" } }),
        proxy: "none",
      }),
    ),
  });
  await using folder = await openConfigFolder(config("first"));
  await writeFile(join(folder.folder, "client.key"), SECRET);
  await using daemon = await startDaemon({ configPath: folder.path });
  await eventually(
    "each has polled",
    () => service.shown.length,
    (polls) => polls >= 6,
  );
  expect(service.asked).toHaveLength(1);
  await writeFile(join(folder.folder, "client.key"), `${SECRET}-rotated`);
  await folder.write(config("second"));
  expect((await daemon.post("/-/reload")).status).toBe(200);
  await eventually("the new token is sent", () => service.shown.at(-1) === "test-key-token-2");
  const basic = Buffer.from(service.asked[1]?.authorization?.slice(6) ?? "", "base64").toString();
  expect(basic).toBe(`second:${encodeURIComponent(`${SECRET}-rotated`)}`);
  const metrics = await daemon.metrics();
  for (const accounts of accountsOf(metrics)) expect(accounts.polls).toBeGreaterThan(0);
  const described = await daemon.get("/api/v1/config");
  expect(described.body).toContain('"client_id":"second"');
  daemon.kill("SIGTERM");
  await daemon.exited;
  expect(service.asked).toHaveLength(2);
  expect(service.judge.violations).toBe(0);
  expect(daemon.stdout + daemon.stderr + described.body).not.toMatch(/test-key-(?:client|token)/);
  expect(daemon.stdout).toContain("access token received");
});

test.concurrent("the example config polls with one token for both upstreams, from a budget of its own", async () => {
  await using service = await openTokenService();
  const text = await readFile(new URL("../../../docs/examples/oauth2.yaml", import.meta.url), "utf8");
  // Its login service allows so little that the first token would take twelve seconds.
  await using folder = await openConfigFolder(text.replaceAll("per: 1m", "per: 1s"));
  const environment = { CRM_BASE_URL: service.url, CRM_LOGIN_URL: service.url, CRM_CLIENT_SECRET: SECRET };
  await using daemon = await startDaemon({ configPath: folder.path, environment });
  await eventually("both have polled", () => service.shown.length === 2);
  expect(new Set(service.shown)).toEqual(new Set(["test-key-token-1"]));
  expect(service.asked[0]?.form.get("scope")).toBe("contacts.read");
  await eventually(
    "both are up",
    async () => (await daemon.get("/metrics")).body,
    (metrics) =>
      ["crm", "crm-status"].every((name) => metrics.includes(`pacewatch_upstream_up{upstream="${name}"} 1`)),
  );
  expect(service.asked).toHaveLength(1);
  expect(daemon.stdout + daemon.stderr).not.toMatch(/test-key-(?:client|token)/);
});
