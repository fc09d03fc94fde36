import { rawUpstream, type RawUpstream } from "../config-folder.ts";
import type { Behaviour } from "./behaviour.ts";
import type { Stage } from "./stage.ts";

/** Whether a config alone brings the program to it: a resolver or a key of our own making cannot be configured. */
export function isConfigurable(behaviour: Behaviour): boolean {
  return behaviour.lookup === undefined && behaviour.credential === undefined;
}

/**
 * On a machine that is busy with other things too, endless answers come slowly. What should time out has a shorter one
 * of its own. No longer: what a reload adds waits for as long before its first poll.
 */
const TIMEOUT_MS = 15_000;

/** The same poll as a config asks for it. */
export function configured(name: string, behaviour: Behaviour, stage: Stage): RawUpstream {
  const { expect } = behaviour;
  const { timeoutMs = TIMEOUT_MS, tls } = behaviour.poll ?? {};
  return rawUpstream(name, stage.url, {
    budget: name,
    timeout: `${timeoutMs}ms`,
    proxy: "none",
    ...(expect === undefined ? {} : { expect }),
    ...(tls?.caFile === undefined ? {} : { tls: { ca_file: tls.caFile } }),
  });
}
