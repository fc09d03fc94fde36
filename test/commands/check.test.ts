import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CheckReport, check } from "../../src/commands/check.ts";
import { ConfigDirectory, withUpstream } from "../config/config-file.ts";
import { load } from "../../src/app/features/sections.ts";

type Printed = { readonly code: number; readonly out: string; readonly err: string };

async function checked(
  configPath: string,
  json: boolean,
  environment: Record<string, string> = {},
  secrets = true,
  others: readonly string[] = [],
): Promise<Printed> {
  let [out, err] = ["", ""];
  const code = await check({
    load,
    configPath,
    others,
    json,
    secrets,
    environment,
    out: (text) => (out += text),
    err: (text) => (err += text),
  });
  return { code, out, err };
}

const SHIPPED = join(import.meta.dirname, "../../config/pacewatch.yaml");
const VARIABLES = {
  EMAIL_API_BASE_URL: "https://email.example.test",
  AI_ROUTER_BASE_URL: "https://router.example.test",
  EMAIL_API_KEY: "test-key-email",
  AI_ROUTER_API_KEY: "test-key-router",
};

describe("a config that fits", () => {
  test("is shown as a table, budget by budget", async () => {
    const { code, out, err } = await checked(SHIPPED, false, VARIABLES);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(`${SHIPPED} fits: 2 upstreams on 2 budgets

── each poll asks ─────────────────────────────────────────────────────────────
  email      GET https://email.example.test/v1/resources  (the default path)
  ai-router  GET https://router.example.test/v1/resources  (the default path)

── budget email ───────────────────────────────────────────────────────────────
  rate     limit  share  cap  demand  headroom
  any 1m    1000    20%  200      24       176  ███░░░░░░░░░░░░░░░░░ 12% used
    email                         24            every 5s: 12 slots, each confirmed once

  pace      at least 300ms between two requests
  restart   waits one pace gap, 300ms: a predecessor's requests and ours fit the limit together
  forecast  518 400 requests in 30d

── budget ai-router ───────────────────────────────────────────────────────────
  rate         limit  share  cap  demand  headroom
  any 1m          60    20%   12       8         4  ██████████████░░░░░░ 67% used
    ai-router                          8            every 15s: 4 slots, each confirmed once

  pace      at least 5s between two requests
  restart   waits one pace gap, 5s: a predecessor's requests and ours fit the limit together
  forecast  172 800 requests in 30d

── an outage is known after ───────────────────────────────────────────────────
  10s to 20s        email
  10s to 40s        ai-router

── and its end within ─────────────────────────────────────────────────────────
  5s                email
  15s               ai-router
`);
  });

  test("shows how long slots wait that come at once, where a short window has no room for all of them", async () => {
    await using directory = await ConfigDirectory.create();
    const text = withUpstream("every: 1h").replace(
      /rate: \{[^}]*\}/,
      "rate: [{ requests: 1000, per: 1m }, { requests: 5, per: 1s }]",
    );
    const { code, out, err } = await checked(await directory.write(text), false);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("any 1s      5    20%    1       2        -1  ████████████████████ in turn");
    expect(out).toContain(
      "turns     slots that come at once are sent one after the other: the last waits up to 1s, of 1h until its next slot",
    );
  });

  test("is told as JSON", async () => {
    const { code, out } = await checked(SHIPPED, true, VARIABLES);
    expect(code).toBe(0);
    const report = JSON.parse(out) as CheckReport;
    expect(report).toMatchObject({ file: SHIPPED, ok: true, faults: [], warnings: [] });
    expect(report.budgets.map(({ budget, coldStart }) => [budget, coldStart.rule])).toEqual([
      ["email", "pace_gap"],
      ["ai-router", "pace_gap"],
    ]);
    expect(out).not.toContain("test-key");
  });

  test("tells quota, cost, a long restart and warnings", async () => {
    await using directory = await ConfigDirectory.create();
    const text = withUpstream(
      "cron: '*/30 8-17 * * 1-5'",
      "confirm: 0",
      "tls: { insecure_skip_verify: true }",
    ).replace(
      "per: 1m }",
      "per: 1m }\n    share: 100%\n    quota: { requests: 400, per: 30d, on_exhaust: stop }\n    price: { per_request: 0.05, currency: EUR }\n    spend: { at_most: 100, per: 30d }",
    );
    const path = await directory.write(text);
    const { code, out } = await checked(path, false);
    expect(code).toBe(0);
    expect(out).toContain("cron */30 8-17 * * 1-5: 1 slot, none confirmed");
    expect(out).toContain("restart   waits 1m10s, until a predecessor's requests are no longer counted");
    expect(out).toContain(
      "quota     schedules ask for 440 of 400 requests in 30d, without confirmations: polls will stop early",
    );
    expect(out).toContain("spend     schedules ask for 22.00 of 100.00 EUR in 30d");
    expect(out).toContain("forecast  429 requests in 30d");
    expect(out).toContain(
      "all polls cost at most 1.00 EUR a day and 22.00 EUR in 30d, confirmations included\n",
    );
    expect(out).toContain(`warning: ${path}:16:34: upstream "api" trusts any certificate`);
    expect(out).toContain(`warning: ${path}:5:12: budget "api" will stop before its period ends`);
  });
});

test("the request of each upstream is shown before the tables, its secrets as variables", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write(
    withUpstream("base_url: ${BASE}", "path: '/v2/${TENANT}/ping?a=1'", "method: HEAD"),
  );
  const own = await checked(path, false, { BASE: "https://a.test/api/", TENANT: "test-key-tenant" });
  expect(own.out).toContain("\n  api  HEAD https://a.test/api/v2/${TENANT}/ping?a=1\n");
  expect(own.out).not.toContain("test-key");
  const unset = await checked(path, false, {}, false);
  expect(unset.out).toContain("\n  api  HEAD ${BASE}/v2/${TENANT}/ping?a=1\n");
  const half = await checked(path, false, { BASE: "https://a.test/api" }, false);
  expect(half.out).toContain("\n  api  HEAD https://a.test/api/v2/${TENANT}/ping?a=1\n");
  const byDefault = await checked(await directory.write(withUpstream("base_url: ${BASE}")), false, {}, false);
  expect(byDefault.out).toContain("\n  api  GET ${BASE}/v1/resources  (the default path)\n");
  const report: CheckReport = JSON.parse((await checked(directory.file(), true, {}, false)).out);
  expect(report.requests).toEqual([
    { upstream: "api", method: "GET", url: "${BASE}/v1/resources", isDefaultPath: true },
  ]);
});

test("whatever exposes a key is told before the tables: plain HTTP, and a file that every user can read", async () => {
  await using directory = await ConfigDirectory.create();
  const key = await directory.write("test-key-file", "api.key");
  await chmod(directory.path, 0o755);
  await chmod(key, 0o644);
  const path = await directory.write(
    withUpstream(
      "base_url: http://a.test",
      "auth: { bearer: { file: api.key } }",
      "timeout: 1m",
      "every: 30s",
    ),
  );
  const { out } = await checked(path, false);
  const places = ["sends its key unencrypted", "chmod 600: ", "── each poll asks", "slots are skipped"].map(
    (words) => out.indexOf(words),
  );
  expect(places).toEqual(places.filter((place) => place > 0).toSorted((a, b) => a - b));
  expect(out).toContain(
    `"upstreams[0].auth.bearer" is a file that every user of this machine can read: chmod 600: ${key}`,
  );
  // Its folder keeps others out.
  await chmod(directory.path, 0o700);
  expect((await checked(path, false)).out).not.toContain("chmod");
  await chmod(directory.path, 0o755);
  await chmod(key, 0o640);
  expect((await checked(path, false)).out).not.toContain("chmod");
});

describe("a config that is refused", () => {
  test("names a state file that is something else, which is left as it is", async () => {
    await using directory = await ConfigDirectory.create();
    await directory.write("somebody's notes", "notes.txt");
    const path = await directory.write(`state: { path: notes.txt }\n${withUpstream()}`);
    const { code, err } = await checked(path, false);
    expect(code).toBe(1);
    expect(err).toContain(
      '"state.path" must be a state file of pacewatch\'s, received one that is not a database',
    );
    expect(await readFile(directory.file("notes.txt"), "utf8")).toBe("somebody's notes");
  });

  test("tells every fault on the error side, and the numbers where they are what is wrong", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write(withUpstream("every: 5s"));
    const { code, out, err } = await checked(path, false);
    expect(code).toBe(1);
    expect(out).toContain("-12  ████████████████████ does not fit");
    const [head, fault, ...more] = err.split("\n");
    expect([head, more]).toEqual([`${path} is refused: 1 fault`, [""]]);
    expect(fault).toMatch(/:3:11: budget "api" does not fit: .*\b24 requests .*\b12 \(20% of 60\): /);
    expect(fault?.startsWith(`  ${path}:`)).toBe(true);
  });

  test("by a missing key, too", async () => {
    const { code, out, err } = await checked(SHIPPED, false, { ...VARIABLES, EMAIL_API_KEY: "" });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("cannot read key: the variable EMAIL_API_KEY is empty");
  });

  test("is told as JSON with the place of each fault", async () => {
    const { code, out, err } = await checked(SHIPPED, true);
    expect({ code, err }).toEqual({ code: 1, err: "" });
    const report = JSON.parse(out) as CheckReport;
    expect(report).toMatchObject({ ok: false, budgets: [] });
    expect(report.faults[0]).toEqual({
      file: SHIPPED,
      line: 17,
      column: 15,
      message: "the variable EMAIL_API_BASE_URL is not set",
    });
  });
});

describe("without secrets, as before a merge", () => {
  test("neither a variable nor a key need be set, and the numbers are shown", async () => {
    const { code, out, err } = await checked(SHIPPED, false, {}, false);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(
      `${SHIPPED} fits: 2 upstreams on 2 budgets (keys, files and unset variables were not looked at)\n`,
    );
    expect(out).toContain("any 1m    1000    20%  200      24       176");
    expect((await checked(SHIPPED, true, {}, false)).code).toBe(0);
  });

  test("no file that it names need be there", async () => {
    await using directory = await ConfigDirectory.create();
    const lines = ["auth: { bearer: { file: no-such.key } }", "tls: { ca_file: no-such.pem }"];
    const path = await directory.write(`web: { config_file: no-such.yaml }\n${withUpstream(...lines)}`);
    expect((await checked(path, false, {}, false)).code).toBe(0);
    expect((await checked(path, false)).code).toBe(1);
  });

  test.each([
    ["an unknown key", ["baseurl: x"], 'unknown key "baseurl"'],
    ["a literal key", ["auth: { bearer: test-key-literal }"], "a key is never written in the config"],
    ["a schedule that does not fit", ["every: 5s"], 'budget "api" does not fit'],
    ["a variable that the numbers need", ["every: ${PERIOD}"], "the variable PERIOD is not set"],
    ["a URL that is set, and wrong", ["base_url: ${URL}"], '"upstreams[0].base_url" must be'],
  ])("%s is refused all the same", async (_, lines, sentence) => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write(withUpstream(...lines));
    const { code, err } = await checked(path, false, { URL: "ftp://x" }, false);
    expect(code).toBe(1);
    expect(err).toContain(sentence);
  });
});

test("what may do or cost something is told with how often it is sent", async () => {
  await using directory = await ConfigDirectory.create();
  const body = "body: { json: { to: a@b.test } }";
  const path = await directory.write(withUpstream("method: POST", body, "every: 15m", "confirm: 2"));
  const { out } = await checked(path, false);
  expect(out).toContain(
    "\nupstream api sends POST up to 288 times a day: 96 slots, each confirmed up to 2 times\n",
  );
  const report: CheckReport = JSON.parse((await checked(path, true)).out);
  expect(report.unsafe).toHaveLength(1);
  const safe = await directory.write(withUpstream("method: OPTIONS"));
  expect((await checked(safe, false)).out).not.toContain("times a day");
});

test("a vantage is shown with its part of every limit and quota", async () => {
  await using directory = await ConfigDirectory.create();
  const text = withUpstream("every: 15s").replace(
    /rate: \{[^}]*\}/,
    "rate: { requests: 1000, per: 1m }\n    quota: { requests: 600000, per: 30d, on_exhaust: stop }",
  );
  const path = await directory.write(`vantage: { name: eu, of: 3 }\n${text}`);
  const { code, out } = await checked(path, false);
  expect(code).toBe(0);
  expect(out).toContain("1 upstream on 1 budget, from eu, which is one of 3 vantages\n");
  expect(out).toContain("── budget api, in 3 equal parts ──");
  expect(out).toMatch(/any 1m +1000\/3 +20% +66 +8 +58 /);
  // Three of these after one another still fit one third of the limit.
  expect(out).toContain("restart   waits one pace gap, 910ms");
  expect(out).toContain("quota     schedules ask for 172 800 of 200 000 requests in 30d");
  const { budgets } = JSON.parse((await checked(path, true)).out) as CheckReport;
  expect(budgets[0]?.vantage).toEqual({ name: "eu", of: 3 });
});

describe("configs of several deployments", () => {
  const deployment = (name: string, url: string, key: string): string => `
budgets: { ${name}: { rate: { requests: 60, per: 1m } } }
upstreams:
  - { name: ${name}, base_url: "${url}", auth: { bearer: { env: ${key} } }, budget: ${name}, every: 15s }
`;
  const keys = { KEY_A: "test-key-a", KEY_B: "test-key-b", KEY_C: "test-key-a" };

  test("fit where nothing stands in two of them, and each is shown", async () => {
    await using directory = await ConfigDirectory.create();
    const a = await directory.write(deployment("mail", "https://mail.example.test", "KEY_A"), "a.yaml");
    const b = await directory.write(deployment("router", "https://router.example.test", "KEY_B"), "b.yaml");
    const { code, out, err } = await checked(a, false, keys, true, [b]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`${a} fits: 1 upstream on 1 budget\n`);
    expect(out).toContain(`\n\n${b} fits: 1 upstream on 1 budget\n`);
  });

  test("are refused where an upstream, a key or a budget stands in two of them", async () => {
    await using directory = await ConfigDirectory.create();
    const a = await directory.write(deployment("mail", "https://mail.example.test", "KEY_A"), "a.yaml");
    const b = await directory.write(deployment("mail", "https://mail.example.test", "KEY_B"), "b.yaml");
    const c = await directory.write(deployment("router", "https://router.example.test", "KEY_C"), "c.yaml");
    const { code, out, err } = await checked(a, false, keys, true, [b, c]);
    expect(code).toBe(1);
    expect(out).toContain(`${a} fits`);
    expect(err.replaceAll(`${directory.path}/`, "")).toBe(`b.yaml is refused: 2 faults
  b.yaml:1:1: budget "mail" stands in a.yaml too: each deployment has budgets of its own
  b.yaml:1:1: upstream "mail" asks https://mail.example.test/v1/resources, and so does "mail" of a.yaml: only one deployment may poll it
c.yaml is refused: 1 fault
  c.yaml:1:1: upstream "router" uses the same key as "mail" of a.yaml: what one key may send is one budget, of one deployment
`);
    expect(out + err).not.toContain("test-key");
  });

  test("are compared without their keys too, and reported as a list", async () => {
    await using directory = await ConfigDirectory.create();
    const a = await directory.write(deployment("mail", "${MAIL_URL}", "KEY_A"), "a.yaml");
    const b = await directory.write(deployment("post", "${MAIL_URL}", "KEY_A"), "b.yaml");
    const c = await directory.write(deployment("router", "${ROUTER_URL}", "KEY_A"), "c.yaml");
    const { code, out } = await checked(a, true, {}, false, [b, c]);
    expect(code).toBe(1);
    const reports = JSON.parse(out) as readonly CheckReport[];
    expect(reports.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(reports[1]?.faults.map(({ message }) => message)).toEqual([
      `upstream "post" asks \${MAIL_URL}/v1/resources, and so does "mail" of ${a}: only one deployment may poll it`,
    ]);
  });
});
