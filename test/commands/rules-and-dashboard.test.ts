import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { dashboard } from "../../src/commands/dashboard.ts";
import type { LinkOptions } from "../../src/commands/links.ts";
import { rules } from "../../src/commands/rules.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONFIG = `
web: { listen: "127.0.0.1:12345" }
budgets: { api: { rate: { requests: 600, per: 1m } } }
upstreams:
  - { name: api, base_url: "\${UNSET_URL}", auth: { bearer: { env: UNSET_KEY } }, budget: api, every: 15s }
`;
const fleet = (mode: string): string =>
  `${CONFIG}fleet: { mode: ${mode}, name: a, replicas: 3, redis: { url: "redis://redis:6379" } }\n`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pacewatch-commands-"));
});
afterEach(() => rm(folder, { recursive: true }));

type Told = { readonly code: number; readonly out: string; readonly err: string };

async function told(
  command: typeof rules | typeof dashboard,
  config: string,
  links: LinkOptions = {},
): Promise<Told> {
  const configPath = join(folder, "pacewatch.yaml");
  await writeFile(configPath, config);
  let out = "";
  let err = "";
  const code = await command({
    configPath,
    environment: {},
    out: (text) => (out += text),
    err: (text) => (err += text),
    ...links,
  });
  return { code, out, err };
}

function shipped(path: string): Promise<string> {
  return readFile(join(ROOT, path), "utf8");
}

describe("rules", () => {
  test.each([
    ["one process", CONFIG, "rules.yml"],
    ["a fleet in shard", fleet("shard"), "rules-shard.yml"],
    ["a fleet in everywhere", fleet("everywhere"), "rules-everywhere.yml"],
  ])("for %s are a file that ships, and need no variable and no key", async (_, config, file) => {
    const out = await shipped(`config/prometheus/${file}`);
    expect(await told(rules, config)).toEqual({ code: 0, out, err: "" });
  });

  test("of the manifests for Kubernetes fit the configs beside them", async () => {
    for (const overlay of ["single", "fleet"]) {
      const own = `deploy/kubernetes/${overlay}`;
      const printed = await told(rules, await shipped(`${own}/pacewatch.yaml`));
      expect(parse(await shipped(`${own}/prometheus-rule.yaml`))).toMatchObject({ spec: parse(printed.out) });
    }
  });

  test("link to runbooks wherever they are kept", async () => {
    const { out } = await told(rules, CONFIG, { runbooks: "https://wiki.example.com/pw" });
    expect(out).toContain('runbook_url: "https://wiki.example.com/pw/PacewatchUpstreamDown.md"');
    expect(out).not.toContain("externalURL");
    expect(out).not.toContain("status_page_url");
  });

  test("link to the status page where its address is known, and to the runbooks that it serves: an alert about an upstream to that upstream's page", async () => {
    const { out } = await told(rules, CONFIG, { statusPage: "https://pw.example.com" });
    expect(out).toContain('status_page_url: "https://pw.example.com/upstreams/{{ $labels.upstream }}"\n');
    expect(out).toContain('status_page_url: "https://pw.example.com/"\n');
    expect(out).toContain('runbook_url: "https://pw.example.com/runbooks/PacewatchUpstreamDown"\n');
    expect(out).not.toContain("externalURL");
  });

  test("differ from what ships by their links alone", async () => {
    const links = { runbooks: "https://wiki.example.com", statusPage: 'https://pw.example.com/"team"/' };
    const [plain, linked] = [await told(rules, CONFIG), await told(rules, CONFIG, links)];
    const isLink = (line: string): boolean => /^ +(?:runbook|status_page)_url: /.test(line);
    const rest = linked.out.split("\n").filter((line) => !isLink(line));
    expect(rest).toEqual(plain.out.split("\n").filter((line) => !isLink(line)));
    const alerts = linked.out.match(/- alert: /g)?.length;
    expect(linked.out.match(/runbook_url: "https:/g)).toHaveLength(alerts ?? 0);
    const pages = JSON.stringify(parse(linked.out)).match(
      /"status_page_url":"https:\/\/pw\.example\.com\/\\"team/g,
    );
    expect(pages).toHaveLength(alerts ?? 0);
  });
});

describe("the dashboard", () => {
  test("links to the status page of this config, and to the runbooks on a Prometheus beside it", async () => {
    const printed = await told(dashboard, CONFIG);
    expect(printed).toMatchObject({ code: 0, err: "" });
    expect(printed.out).toContain('"query": "http://localhost:12345/"');
    expect(printed.out).toContain('"query": "http://localhost:9090/user/runbooks/"');
  });

  test("starts with the addresses that it is given", async () => {
    const links = { runbooks: "https://wiki.example.com", statusPage: "https://pw.example.com/" };
    const { out } = await told(dashboard, CONFIG, links);
    expect(out).toContain('"query": "https://wiki.example.com/"');
    expect(out).toContain('"query": "https://pw.example.com/"');
    expect(out).not.toContain("localhost");
  });

  test("is the file that ships where nothing else is asked for", async () => {
    const { out } = await told(dashboard, CONFIG.replace("12345", "10429"));
    expect(out).toBe(await shipped("config/grafana/dashboards/pacewatch.json"));
  });
});

test.each([rules, dashboard])(
  "a config that is refused prints its faults, and nothing else",
  async (command) => {
    const printed = await told(command, CONFIG.replace("every: 15s", "every: 7s"));
    expect(printed).toMatchObject({ code: 1, out: "" });
    expect(printed.err).toMatch(/pacewatch\.yaml:\d+:\d+: /);
  },
);
