import { fileURLToPath } from "node:url";
import { createLogger } from "../features/log/logger.ts";
import type { Address } from "../kernel/config/config.ts";
import type { App } from "../app/build.ts";
import { AI_ROUTER_DEMO_SCRIPT, EMAIL_DEMO_SCRIPT, startDemoUpstreams } from "../simulator/demo-upstreams.ts";
import { describeScript } from "../simulator/timeline.ts";
import { type ProcessEvents, run } from "./run.ts";

export type DemoCommand = {
  readonly listen: Address | undefined;
  readonly seed: number;
  readonly events: ProcessEvents;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
};

/** The upstreams of the shipped config, and completions of two models. */
const DEMO_CONFIG = fileURLToPath(new URL("../../config/demo.yaml", import.meta.url));

/** Both upstreams simulated with their limits enforced, and the daemon watching them. */
export async function demo(command: DemoCommand): Promise<number> {
  const { out, seed } = command;
  await using upstreams = await startDemoUpstreams({
    seed,
    onFaultChange: (name, words) => out(`~ simulated ${name}: ${words}\n`),
  });
  const limits = [upstreams.email, upstreams.aiRouter];
  const code = await run({
    ...command,
    configPath: DEMO_CONFIG,
    // Nothing else of this machine's environment: its proxy must not come between two local programs.
    environment: upstreams.environment,
    withdraw: () => {},
    log: createLogger({ level: "info", pretty: true }),
    onStarted: (app) => out(welcome(app)),
  });
  if (code !== 0) return code;
  for (const upstream of limits) {
    for (const { limit, requests } of upstream.worstWindow()) {
      const window = `${limit.perMs / 1_000} s`;
      out(
        `${upstream.name}: at most ${requests} of ${limit.requests} requests in any ${window}, by its own count\n`,
      );
    }
  }
  out(`ai-router: its completions cost ${upstreams.aiRouter.cost.toFixed(4)} USD, by its own count\n`);
  return code;
}

function welcome({ url }: App): string {
  return [
    "",
    "pacewatch is watching two simulated services, one of them also by the completions of two models. Look at:",
    "",
    `  ${url}/           the status page`,
    `  ${url}/metrics    what Prometheus scrapes`,
    `  ${url}/api/v1/upstreams`,
    "",
    "What will happen to the email delivery API, over and over:",
    ...describeScript(EMAIL_DEMO_SCRIPT).map((line) => `  ${line}`),
    "and to the AI routing API:",
    ...describeScript(AI_ROUTER_DEMO_SCRIPT).map((line) => `  ${line}`),
    "",
    "Press Ctrl-C to stop.",
    "",
    "",
  ].join("\n");
}
