import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { dashboard } from "../../src/commands/dashboard.ts";
import type { LinkOptions } from "../../src/commands/links.ts";
import { rules } from "../../src/commands/rules.ts";
import type { Shape } from "../../src/commands/shape.ts";
import { requireBinary } from "../support/processes/binaries.ts";
import { runWith } from "../tools/promtool.ts";
import { load } from "../../src/app/features/sections.ts";

const promtool = requireBinary("promtool");
const ROOT = join(import.meta.dirname, "../..");
const CONFIG = `
web: { listen: "127.0.0.1:12345" }
budgets: { api: { rate: { requests: 600, per: 1m } } }
upstreams:
  - { name: api, base_url: "\${UNSET_URL}", auth: { bearer: { env: UNSET_KEY } }, budget: api, every: 15s }
`;
const FLEET = `${CONFIG}fleet: { name: a, lock: { redis: { url: "redis://redis:6379" } } }\n`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pacewatch-commands-"));
});
afterEach(() => rm(folder, { recursive: true }));

type PrintedAlert = {
  readonly alert: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

function alertsIn(text: string): readonly PrintedAlert[] {
  const { groups } = parse(text) as { groups: { rules: (PrintedAlert | { record: string })[] }[] };
  return groups.flatMap(({ rules }) => rules.filter((rule) => "alert" in rule));
}

type Told = { readonly code: number; readonly out: string; readonly err: string };

async function told(
  command: typeof rules | typeof dashboard,
  config: string,
  options: LinkOptions & Partial<Shape> = {},
): Promise<Told> {
  const configPath = join(folder, "pacewatch.yaml");
  await writeFile(configPath, config);
  let out = "";
  let err = "";
  const code = await command({
    load,
    configPath,
    environment: {},
    out: (text) => (out += text),
    err: (text) => (err += text),
    ...options,
  });
  return { code, out, err };
}

function shipped(path: string): Promise<string> {
  return readFile(join(ROOT, path), "utf8");
}

describe("rules", () => {
  test.each([
    ["one process", CONFIG, "rules.yml"],
    ["a fleet", FLEET, "rules-fleet.yml"],
    ["a vantage", `${CONFIG}vantage: { name: eu, of: 2 }\n`, "rules-vantages.yml"],
    ["a fleet at a vantage", `${FLEET}vantage: { name: eu, of: 2 }\n`, "rules-vantages.yml"],
  ])("for %s are a file that ships, and need no variable and no key", async (_, config, file) => {
    const made = `# Made by: pacewatch rules --config ${join(folder, "pacewatch.yaml")}\n`;
    const out = made + (await shipped(`config/prometheus/${file}`));
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
    expect(out).not.toContain("/runbooks/");
    expect(out).not.toContain("status_page_url");
  });

  test("link to the status page where its address is known, and to the runbooks that it serves: an alert about an upstream to that upstream's page", async () => {
    const { out } = await told(rules, CONFIG, { statusPage: "https://pw.example.com" });
    expect(out).toContain('status_page_url: "https://pw.example.com/upstreams/{{ $labels.upstream }}"\n');
    expect(out).toContain('status_page_url: "https://pw.example.com/"\n');
    expect(out).toContain('runbook_url: "https://pw.example.com/runbooks/PacewatchUpstreamDown"\n');
    expect(out).not.toContain("http://");
  });

  test("link to the page for people that the config names, unless another one is given", async () => {
    const config = CONFIG.replace("web: {", 'web: { page_url: "https://people.example.com/",');
    expect((await told(rules, config)).out).toContain(
      'runbook_url: "https://people.example.com/runbooks/PacewatchUpstreamDown"\n',
    );
    const { out } = await told(rules, config, { statusPage: "https://pw.example.com" });
    expect(out).not.toContain("people.example.com");
  });

  test("link to the runbooks with https where Pacewatch serves https", async () => {
    expect((await told(rules, CONFIG)).out).toContain("}}http://{{");
    const config = CONFIG.replace("web: {", "web: { config_file: web.yaml,");
    expect((await told(rules, config)).out).toContain("}}http://{{");
    await writeFile(join(folder, "web.yaml"), "tls_server_config: { cert_file: a.pem, key_file: b.pem }\n");
    const { out } = await told(rules, config);
    expect(out).toContain("}}https://{{");
    expect(out).not.toContain("http://");
  });

  test("differ from what ships by their links alone", async () => {
    const links = { runbooks: "https://wiki.example.com", statusPage: 'https://pw.example.com/"team"/' };
    const alertsOf = async (options: LinkOptions): Promise<readonly PrintedAlert[]> =>
      alertsIn((await told(rules, CONFIG, options)).out);
    const [plain, linked] = [await alertsOf({}), await alertsOf(links)];
    expect(plain.length).toBeGreaterThan(25);
    const root = 'https://pw.example.com/"team"/';
    expect(linked).toEqual(
      plain.map(({ annotations, ...alert }) => {
        const isOfUpstream = /^[^:]*\$labels\.upstream/.test(annotations["summary"] ?? "");
        return {
          ...alert,
          annotations: {
            ...annotations,
            runbook_url: `https://wiki.example.com/${alert.alert}.md`,
            status_page_url: isOfUpstream ? `${root}upstreams/{{ $labels.upstream }}` : root,
          },
        };
      }),
    );
  });

  describe("give labels and links of the config to the alerts", () => {
    const upstream = (name: string, rest: string): string =>
      `  - { name: ${name}, base_url: "http://127.0.0.1:9", auth: { none: true }, every: 15s, ${rest} }\n`;
    const labelled =
      "budgets: { api: { rate: { requests: 600, per: 1m } } }\nupstreams:\n" +
      upstream("a", 'budget: api, labels: { team: x }, links: { support: "https://s.example.com/#now" }') +
      upstream("b", "budget: api, labels: { team: y }");

    test("about an upstream or a budget, and to no other", async () => {
      for (const config of [labelled, labelled + FLEET.slice(CONFIG.length)]) {
        for (const { alert, labels, annotations } of alertsIn((await told(rules, config)).out)) {
          const isAbout = /\$labels\.(?:upstream|budget)/.test(annotations["summary"] ?? "");
          const has = { alert, team: "team" in labels, link: "link_support" in annotations };
          expect(has).toEqual({ alert, team: isAbout, link: isAbout });
        }
      }
    });

    test.skipIf(promtool === undefined)(
      "as Prometheus reads them: of the upstream, or of a budget whose upstreams agree",
      async () => {
        const info = (name: string, more: string): string =>
          `      - { series: 'pacewatch_upstream_info{job="pw",instance="pw:1",upstream="${name}",budget="api"${more}}', values: "1x8" }\n`;
        const ofUpstream = (name: string): string => `job="pw",instance="pw:1",upstream="${name}"`;
        const down = (name: string): string =>
          `      - { series: 'pacewatch_upstream_up{${ofUpstream(name)}}', values: "0x8" }\n`;
        const spent = ["used", "limit"].map(
          (what) =>
            `      - { series: 'pacewatch_budget_quota_${what}_requests{job="pw",instance="pw:1",budget="api"}', values: "9x8" }\n`,
        );
        const test = (infos: string, team: string): string => `
  - interval: 1m
    input_series:
      - { series: 'pacewatch_build_info{job="pw",instance="pw:1"}', values: "1x8" }
${infos}${down("a")}${down("b")}${spent.join("")}
    promql_expr_test:
      - expr: sum by (alertname, upstream, team) (ALERTS{alertname=~"PacewatchUpstreamDown|PacewatchQuotaSpent"})
        eval_time: 4m
        exp_samples:
          - { labels: '{alertname="PacewatchUpstreamDown",upstream="a",team="x"}', value: 1 }
          - { labels: '{alertname="PacewatchUpstreamDown",upstream="b"${team}}', value: 1 }
          - { labels: '{alertname="PacewatchQuotaSpent"${team === ',team="y"' ? ',team="none"' : ',team="x"'}}', value: 1 }
`;
        const hostile = 'link_support="https://s.example.com/{{ .Value }}"';
        const tests = `rule_files: [rules.yml]
tests:${test(info("a", `,team="x",${hostile}`) + info("b", ',team="y"'), ',team="y"')}
    alert_rule_test:
      - eval_time: 4m
        alertname: PacewatchUpstreamDown
        exp_alerts:
          - exp_labels: { job: pw, instance: "pw:1", upstream: a, severity: page, team: x }
            exp_annotations: &told
              summary: a is down
              description: "No poll of a has succeeded for as long as this process has been running. Failures in the last 5 minutes, by reason: none. Availability in the last hour: unknown."
              runbook_url: "http://pw:1/runbooks/PacewatchUpstreamDown"
              link_support: "https://s.example.com/{{ .Value }}"
          - exp_labels: { job: pw, instance: "pw:1", upstream: b, severity: page, team: y }
            exp_annotations:
              summary: b is down
              description: "No poll of b has succeeded for as long as this process has been running. Failures in the last 5 minutes, by reason: none. Availability in the last hour: unknown."
              runbook_url: "http://pw:1/runbooks/PacewatchUpstreamDown"
              link_support: ""
${test(info("a", ',team="x"') + info("b", ',team="x"'), ',team="x"')}${test(info("a", ',team="x"') + info("b", ""), ',team="none"')}`;
        const files = { "rules.yml": (await told(rules, labelled)).out, "test.yml": tests };
        const ran = runWith(files, promtool ?? "", (at) => ["test", "rules", `${at}/test.yml`]);
        expect(ran.output).toContain("SUCCESS");
      },
    );

    test.skipIf(promtool === undefined)(
      "also for as long as an alert says that the process of an upstream is gone",
      async () => {
        const of = 'job="pw",instance="pw:1",upstream="a"';
        const tests = `rule_files: [rules.yml]
tests:
  - interval: 1m
    input_series:
      - { series: 'pacewatch_upstream_info{${of},budget="api",team="x"}', values: "1x5 stale" }
      - { series: 'pacewatch_stalled_at_timestamp_seconds{${of}}', values: "175+60x5 stale" }
    promql_expr_test:
${["12m", "200m"]
  .map(
    (at) => `      - expr: count by (upstream, team) (ALERTS{alertstate="firing",upstream="a"})
        eval_time: ${at}
        exp_samples: [{ labels: '{upstream="a",team="x"}', value: 1 }]
`,
  )
  .join("")}`;
        const files = { "rules.yml": (await told(rules, labelled)).out, "test.yml": tests };
        const ran = runWith(files, promtool ?? "", (at) => ["test", "rules", `${at}/test.yml`]);
        expect(ran.output).toContain("SUCCESS");
      },
    );
  });
});

describe("rules as a team wants them", () => {
  const shape: Shape = {
    severity: { page: "critical", ticket: "P4: later" },
    label: { team: "x", note: `it's "ours"` },
    for: { PacewatchUpstreamDown: "2m", PacewatchPollsStalled: "10m", PacewatchOffline: "0s" },
    without: ["PacewatchErrorBudgetBurning", "PacewatchSlotsSkipped"],
  };

  test("differ from what ships by that alone", async () => {
    const [plain, own] = [await told(rules, CONFIG), await told(rules, CONFIG, shape)];
    expect(alertsIn(own.out)).toEqual(
      alertsIn(plain.out)
        .filter(({ alert }) => !shape.without.includes(alert))
        .map((alert) => {
          const wait = shape.for[alert.alert] ?? alert.for;
          const severity = shape.severity[alert.labels["severity"] ?? ""];
          return {
            ...alert,
            ...(wait === undefined ? {} : { for: wait }),
            labels: { ...alert.labels, ...shape.label, severity },
          };
        }),
    );
    const recordings = (text: string): readonly string[] => text.match(/- record: .+/g) ?? [];
    expect(recordings(own.out)).toEqual(recordings(plain.out));
  });

  test("say by which command they are made again", async () => {
    const links = { statusPage: "https://pw.example.com/" };
    const { out } = await told(rules, CONFIG, { ...links, ...shape });
    expect(out.split("\n")[0]).toBe(
      `# Made by: pacewatch rules --config ${join(folder, "pacewatch.yaml")} --status-page https://pw.example.com/ --severity page=critical --severity 'ticket=P4: later' --label team=x --label 'note=it'\\''s "ours"' --for PacewatchUpstreamDown=2m --for PacewatchPollsStalled=10m --for PacewatchOffline=0s --without PacewatchErrorBudgetBurning --without PacewatchSlotsSkipped`,
    );
  });

  test.skipIf(promtool === undefined)(
    "are rules to Prometheus, also where a group has none left",
    async () => {
      const itself = [
        "Down",
        "Restarting",
        "Absent",
        "ConfigReloadFailed",
        "StateStoreDown",
        "NotificationsStuck",
      ];
      const without = [...shape.without, ...itself.map((name) => `Pacewatch${name}`)];
      const { out } = await told(rules, CONFIG, { ...shape, label: { team: "x" }, without });
      expect(out).not.toContain("pacewatch-itself");
      const info = 'job="pw",instance="pw:1",upstream="a"';
      const tests = `rule_files: [rules.yml]
tests:
  - interval: 1m
    input_series:
      - { series: 'pacewatch_upstream_up{${info}}', values: "0x8" }
    promql_expr_test:
      - expr: ALERTS
        eval_time: 1m
        exp_samples: [{ labels: 'ALERTS{alertname="PacewatchUpstreamDown",alertstate="pending",${info},severity="critical",team="x"}', value: 1 }]
      - expr: count by (severity) (ALERTS{alertstate="firing"})
        eval_time: 3m
        exp_samples: [{ labels: '{severity="critical"}', value: 1 }]
`;
      const files = { "rules.yml": out, "test.yml": tests };
      const ran = runWith(files, promtool ?? "", (at) => ["test", "rules", `${at}/test.yml`]);
      expect(ran.output).toContain("SUCCESS");
      const checked = runWith(files, promtool ?? "", (at) => [
        "check",
        "rules",
        "--lint-fatal",
        `${at}/rules.yml`,
      ]);
      expect(checked.output).not.toMatch(/FAILED/);
    },
  );

  test.each<[string, Partial<Shape>, string]>([
    [
      "an alert that is none",
      { without: ["PacewatchUpstreamDwn"] },
      '"--without" has no "PacewatchUpstreamDwn": did you mean "PacewatchUpstreamDown"? there are Pacewatch',
    ],
    [
      "a wait of one that is none",
      { for: { PacewatchSlotSkipped: "2m" } },
      '"--for" has no "PacewatchSlotSkipped": did you mean "PacewatchSlotsSkipped"? there are Pacewatch',
    ],
    [
      "a wait that is none",
      { for: { PacewatchDown: "soon" } },
      '"--for PacewatchDown" must be a duration such as 2m, received "soon"',
    ],
    [
      "a severity that is none",
      { severity: { pages: "critical" } },
      '"--severity" has no "pages": did you mean "page"? there are page, ticket',
    ],
    [
      "a label that cannot be",
      { label: { "my-team": "x" } },
      '"--label my-team" must be the name of a label, such as team',
    ],
    [
      "a label that alerts have",
      { label: { upstream: "x" } },
      '"--label upstream" is a label that alerts have by themselves',
    ],
  ])("are not printed with %s", async (_, wanted, sentence) => {
    const { code, out, err } = await told(rules, CONFIG, wanted);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(`cannot print rules: ${sentence}`);
  });

  test("are not printed with a label that upstreams have", async () => {
    const labelled = CONFIG.replace("every: 15s", "every: 15s, labels: { team: y }");
    expect((await told(rules, labelled, { label: { team: "x" } })).err).toContain(
      '"--label team" is a label of your upstreams already',
    );
  });
});

describe("the dashboard", () => {
  test("links to the status page of this config, and to the runbooks there", async () => {
    const printed = await told(dashboard, CONFIG);
    expect(printed).toMatchObject({ code: 0, err: "" });
    expect(printed.out).toContain('"query": "http://localhost:12345/"');
    expect(printed.out).toContain('"query": "http://localhost:12345/runbooks/"');
  });

  test("starts with the addresses that it is given", async () => {
    const links = { runbooks: "https://wiki.example.com", statusPage: "https://pw.example.com/" };
    const { out } = await told(dashboard, CONFIG, links);
    expect(out).toContain('"query": "https://wiki.example.com/"');
    expect(out).toContain('"query": "https://pw.example.com/"');
    expect(out).not.toContain("localhost");
  });

  test("links to the page for people that the config names", async () => {
    const config = CONFIG.replace("web: {", 'web: { page_url: "https://people.example.com",');
    const { out } = await told(dashboard, config);
    expect(out).toContain('"query": "https://people.example.com"');
    expect(out).toContain('"query": "https://people.example.com/runbooks/"');
    expect(out).not.toContain("localhost");
  });

  test("leads to the runbooks of the status page that it is given", async () => {
    const { out } = await told(dashboard, CONFIG, { statusPage: "https://pw.example.com" });
    expect(out).toContain('"query": "https://pw.example.com/runbooks/"');
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
    const printed = await told(command, CONFIG.replace("every: 15s", "every: 1500ms"));
    expect(printed).toMatchObject({ code: 1, out: "" });
    expect(printed.err).toMatch(/pacewatch\.yaml:\d+:\d+: /);
  },
);
