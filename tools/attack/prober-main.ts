import { request } from "node:http";
import { request as requestTls } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/** Probes as an orchestrator does, in a thread that the attack does not keep busy: each on a connection of its own. */
const PROBE_EVERY_MS = 200;
const GIVE_UP_AFTER_MS = 10_000;

const { url }: { readonly url: string } = workerData;
let longestMs = 0;
let answered = 0;
let failed = 0;
let begunAtMs: number | undefined;

parentPort?.on("message", () => {
  // One that still waits counts too.
  if (begunAtMs !== undefined) longestMs = Math.max(longestMs, performance.now() - begunAtMs);
  parentPort?.postMessage({ longestMs, answered, failed });
  longestMs = 0;
  answered = 0;
  failed = 0;
  if (begunAtMs !== undefined) begunAtMs = performance.now();
});

for (;;) {
  begunAtMs = performance.now();
  const isOk = await probe();
  longestMs = Math.max(longestMs, performance.now() - begunAtMs);
  begunAtMs = undefined;
  if (isOk) answered += 1;
  else failed += 1;
  await sleep(PROBE_EVERY_MS);
}

function probe(): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { agent: false, timeout: GIVE_UP_AFTER_MS, rejectUnauthorized: false };
    const asked = (url.startsWith("https:") ? requestTls : request)(url, options, (answer) => {
      answer.resume().once("close", () => resolve(answer.statusCode === 200));
    });
    asked
      .once("timeout", () => asked.destroy())
      .on("error", () => resolve(false))
      .end();
  });
}
