import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { freePort } from "./free-port.ts";
import { Program } from "./program.ts";

export type MonitoringOptions = {
  /** Paths of the two programs. */
  readonly prometheus: string;
  readonly alertmanager: string;
  /** `host:port` of the Pacewatch to scrape. */
  readonly target: string;
  readonly rules?: string;
  /** Of scrapes and of rules. */
  readonly intervalS?: number;
  /** Where every notification goes, in place of the shipped config's empty receivers. */
  readonly webhook?: string;
  /** In place of the shipped config's waits. */
  readonly groupWait?: string;
};

export type Monitoring = AsyncDisposable & {
  readonly prometheusUrl: string;
  readonly alertmanagerUrl: string;
};

type Yaml = { [key: string]: unknown };

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROMETHEUS_CONFIG = "config/prometheus/prometheus.yml";
const ALERTMANAGER_CONFIG = "config/alertmanager/alertmanager.yml";
const RULES = "config/prometheus/rules.yml";

/** Prometheus and Alertmanager on free ports, with the configs that ship: only addresses and times are changed. */
export async function startMonitoring(options: MonitoringOptions): Promise<Monitoring> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-stack-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const alertmanager = await startAlertmanager(folder, options, stack);
  const prometheus = await startPrometheus(folder, options, alertmanager, stack);
  const owned = stack.move();
  return {
    prometheusUrl: `http://${prometheus}`,
    alertmanagerUrl: `http://${alertmanager}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startAlertmanager(
  folder: string,
  options: MonitoringOptions,
  stack: AsyncDisposableStack,
): Promise<string> {
  const config = await readYaml(ALERTMANAGER_CONFIG);
  if (options.groupWait !== undefined && isMapping(config["route"])) {
    config["route"] = {
      ...config["route"],
      group_wait: options.groupWait,
      group_interval: options.groupWait,
    };
  }
  if (options.webhook !== undefined && Array.isArray(config["receivers"])) {
    const webhooks = [{ url: options.webhook, send_resolved: true }];
    config["receivers"] = config["receivers"]
      .filter(isMapping)
      .map((receiver) => ({ ...receiver, webhook_configs: webhooks }));
  }
  const path = join(folder, "alertmanager.yml");
  await writeFile(path, stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const program = stack.use(
    new Program(options.alertmanager, {
      args: [
        `--config.file=${path}`,
        `--storage.path=${join(folder, "alertmanager")}`,
        `--web.listen-address=${address}`,
        "--cluster.listen-address=",
      ],
    }),
  );
  await program.ready(`http://${address}/-/ready`);
  return address;
}

async function startPrometheus(
  folder: string,
  options: MonitoringOptions,
  alertmanager: string,
  stack: AsyncDisposableStack,
): Promise<string> {
  const interval = `${options.intervalS ?? 15}s`;
  const config = {
    ...(await readYaml(PROMETHEUS_CONFIG)),
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    scrape_configs: [{ job_name: "pacewatch", static_configs: [{ targets: [options.target] }] }],
    alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
  };
  const path = join(folder, "prometheus.yml");
  await writeFile(path, stringify(config));
  await writeFile(join(folder, "rules.yml"), options.rules ?? (await readFile(join(ROOT, RULES), "utf8")));
  const address = `127.0.0.1:${await freePort()}`;
  const program = stack.use(
    new Program(options.prometheus, {
      args: [
        `--config.file=${path}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=${address}`,
        `--web.external-url=http://${address}/`,
        `--rules.alert.resend-delay=${interval}`,
      ],
    }),
  );
  await program.ready(`http://${address}/-/ready`);
  return address;
}

async function readYaml(path: string): Promise<Yaml> {
  const content: unknown = parse(await readFile(join(ROOT, path), "utf8"));
  if (!isMapping(content)) throw new Error(`cannot read ${path}: it must be a mapping`);
  return content;
}

function isMapping(value: unknown): value is Yaml {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
