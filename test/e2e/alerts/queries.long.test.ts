import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "../../../tools/stack/free-port.ts";
import { generatedFiles } from "../../../tools/generate.ts";
import { startMonitoring } from "../../../tools/stack/monitoring.ts";
import { metricsIn, queriesIn } from "../../tools/promql.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { Daemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");
const PATIENCE_MS = 60_000;

const Answer = z.object({
  status: z.string(),
  error: z.string().optional(),
  data: z.object({ result: z.array(z.unknown()) }).optional(),
});
const Rules = z.object({
  data: z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            name: z.string(),
            query: z.string(),
            health: z.string(),
            lastError: z.string().optional(),
            annotations: z.record(z.string(), z.string()).optional(),
          }),
        ),
      }),
    ),
  }),
});
const Names = z.object({ data: z.array(z.string()) });
const Dashboard = z.object({
  annotations: z.object({ list: z.array(z.object({ expr: z.string() })) }),
  panels: z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string(), instant: z.boolean() })).default([]),
    }),
  ),
});

const files = generatedFiles();
const dashboard = Dashboard.parse(JSON.parse(files.get("config/grafana/dashboards/pacewatch.json") ?? ""));
const panels = dashboard.panels.filter(({ targets }) => targets.length > 0);
/** The demo is one process, without Redis, values and quotas. */
const [panelsOfOthers, panelsOfDemo] = [true, false].map((ofOthers) =>
  panels.filter(({ targets }) => targets.every(({ expr }) => isOfOthers(expr)) === ofOthers),
);

function isOfOthers(expr: string): boolean {
  const metrics = metricsIn(expr);
  return (
    metrics.every((metric) => /^pacewatch_(?:leader|lock_up|config_info)/.test(metric)) ||
    metrics.some((metric) => /^pacewatch_(?:upstream_(?:value|credit)|budget_quota_empty)/.test(metric))
  );
}

/** As Grafana fills its variables in. */
function filled(expr: string): string {
  return expr.replaceAll(/\$__(?:rate_)?interval/g, "10s").replaceAll(/\$(?:job|instance|upstream)\b/g, ".+");
}

const world = new AsyncDisposableStack();
let url = "";
let instance = "";

beforeAll(async () => {
  if (prometheus === undefined || alertmanager === undefined) return;
  instance = `127.0.0.1:${await freePort()}`;
  const demo = world.use(new Daemon(["demo", "--listen", instance], {}));
  await demo.until(({ stdout }) => stdout.includes("pacewatch is watching"));
  const monitoring = await startMonitoring({
    prometheus,
    alertmanager,
    target: instance,
    // What is recorded once a minute for the sake of its cost would be long to wait for.
    rules: (files.get("config/prometheus/rules.yml") ?? "").replaceAll("interval: 1m", "interval: 1s"),
    intervalS: 1,
  });
  world.use(monitoring);
  url = monitoring.prometheusUrl;
}, PATIENCE_MS);

afterAll(() => world.disposeAsync(), PATIENCE_MS);

async function ask(expr: string, isInstant = true): Promise<readonly unknown[]> {
  const nowS = Date.now() / 1000;
  // The demo fails, and skips a slot, about once a minute.
  const range = { start: String(nowS - 60), end: String(nowS), step: "1" };
  const query = new URLSearchParams({ query: expr, ...(isInstant ? {} : range) });
  const response = await fetch(`${url}/api/v1/query${isInstant ? "" : "_range"}?${query.toString()}`);
  const answer = Answer.parse(await response.json());
  if (answer.data === undefined) throw new Error(`cannot ask ${expr}: ${answer.error ?? answer.status}`);
  return answer.data.result;
}

async function rulesNow(): Promise<z.infer<typeof Rules>["data"]["groups"][number]["rules"]> {
  const { data } = Rules.parse(await (await fetch(`${url}/api/v1/rules`)).json());
  return data.groups.flatMap((group) => group.rules);
}

describe.skipIf(prometheus === undefined || alertmanager === undefined)(
  "with a Prometheus that scrapes the demo",
  () => {
    test("every rule is evaluated without an error", { timeout: 2 * PATIENCE_MS }, async () => {
      await eventually(
        "every rule was evaluated",
        async () => (await rulesNow()).filter(({ health }) => health === "unknown"),
        (unknown) => unknown.length === 0,
      );
      const wrong = (await rulesNow()).filter(({ health }) => health !== "ok");
      expect(wrong).toEqual([]);
    });

    test("every query inside the text of an alert works", { timeout: PATIENCE_MS }, async () => {
      const labels = { job: "pacewatch", instance, upstream: "email", budget: "email" };
      const queries = (await rulesNow()).flatMap(({ annotations = {} }) =>
        queriesIn(Object.values(annotations).join(" "), labels),
      );
      expect(queries.length).toBeGreaterThan(20);
      for (const query of queries) await ask(query);
    });

    test.each(panelsOfOthers ?? [])("$title: the panel can be asked", async ({ targets }) => {
      const asked = targets.map(({ expr, instant }) => ask(filled(expr), instant));
      expect(await Promise.all(asked)).toHaveLength(targets.length);
    });

    test.each(panelsOfDemo ?? [])(
      "$title: the panel shows something",
      { timeout: 2 * PATIENCE_MS },
      async ({ targets }) => {
        const found = await eventually("a query of the panel finds something", async () => {
          const results = await Promise.all(targets.map(({ expr, instant }) => ask(filled(expr), instant)));
          return results.find((series) => series.length > 0);
        });
        expect(found.length).toBeGreaterThan(0);
      },
    );

    test("the changes of state are found", { timeout: PATIENCE_MS }, async () => {
      const [changes] = dashboard.annotations.list;
      const found = await eventually("a change of state is found", async () => {
        const series = await ask(filled(changes?.expr ?? ""), false);
        return series.length > 0 ? series : undefined;
      });
      expect(found.length).toBeGreaterThan(0);
    });

    test("what the panels read of the process itself is there", { timeout: PATIENCE_MS }, async () => {
      const names = Names.parse(await (await fetch(`${url}/api/v1/label/__name__/values`)).json()).data;
      const read = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)));
      const library = read.filter((metric) => /^(?:process|nodejs)_/.test(metric));
      expect(library.length).toBeGreaterThan(0);
      expect(library.filter((metric) => !names.includes(metric))).toEqual([]);
    });

    test("the runbooks are where the dashboard links to", { timeout: PATIENCE_MS }, async () => {
      const response = await fetch(`http://${instance}/runbooks/PacewatchUpstreamDown.md`);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain("Pacewatch<wbr>Upstream<wbr>Down</h1>");
    });
  },
);
