import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rules } from "../../../src/commands/rules.ts";
import { type Monitoring, startMonitoring } from "../../../tools/stack/monitoring.ts";
import { Daemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import type { Webhook } from "./webhook.ts";
import { load } from "../../../src/app/features/sections.ts";

type Options = {
  readonly prometheus: string;
  readonly alertmanager: string;
  readonly config: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly rulesOf: (config: string) => Promise<string>;
  readonly webhook: Webhook;
  readonly groupWait: string;
};

/** A daemon, Prometheus and Alertmanager that look each second, and somebody who is told. Owned by `world`. */
export async function startWatching(world: AsyncDisposableStack, options: Options): Promise<Monitoring> {
  const { prometheus, alertmanager, config, environment, rulesOf, webhook, groupWait } = options;
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-alerts-"));
  world.defer(() => rm(folder, { recursive: true, force: true }));
  const configPath = join(folder, "pacewatch.yaml");
  await writeFile(configPath, config);
  const daemon = world.use(
    new Daemon(["run", "--config", configPath, "--listen", "127.0.0.1:0"], environment),
  );
  await daemon.logged("listening");
  const monitoring = world.use(
    await startMonitoring({
      prometheus,
      alertmanager,
      target: new URL(daemon.url).host,
      rules: await rulesOf(config),
      intervalS: 1,
      webhook: await webhook.listen(),
      groupWait,
    }),
  );
  // The counters must have been seen before they grow.
  await eventually(
    "Prometheus has scraped the counters three times",
    () => valueOf(monitoring, "min(count_over_time(pacewatch_polls_total[1m]))"),
    (value) => value !== undefined && value >= 3,
  );
  return monitoring;
}

/** The rules that a config leads to. */
export async function rulesFor(config: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-rules-"));
  try {
    const configPath = join(folder, "pacewatch.yaml");
    await writeFile(configPath, config);
    let text = "";
    await rules({ load, configPath, environment: {}, out: (piece) => (text += piece), err: () => undefined });
    return text;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type QueryAnswer = {
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
};

/** Of the first series; undefined where there is none. */
export async function valueOf({ prometheusUrl }: Monitoring, query: string): Promise<number | undefined> {
  const answer = await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(query)}`);
  const { data } = (await answer.json()) as QueryAnswer;
  const text = data.result[0]?.value[1];
  return text === undefined ? undefined : Number(text);
}
