/**
 * The whole stack on this machine, without containers: the demo, watched by Debian's Prometheus and Alertmanager
 * with the rules that ship. No Grafana: Debian has none.
 */

import { fileURLToPath } from "node:url";
import { freePort } from "./stack/free-port.ts";
import { startMonitoring } from "./stack/monitoring.ts";
import { Program } from "./stack/program.ts";
import { findProgram } from "./stack/find-program.ts";

const PACEWATCH = fileURLToPath(new URL("../bin/pacewatch.mjs", import.meta.url));

process.exitCode = await stack();

async function stack(): Promise<number> {
  const prometheus = findProgram("prometheus");
  const alertmanager = findProgram("prometheus-alertmanager") ?? findProgram("alertmanager");
  if (prometheus === undefined || alertmanager === undefined) {
    console.error("cannot start: Prometheus and Alertmanager must be on the PATH.");
    console.error("On Debian: apt-get install prometheus prometheus-alertmanager");
    return 1;
  }
  const { promise: asked, resolve: end } = Promise.withResolvers<"asked">();
  // However often: a signal that nobody listens to would end this process before those that it started.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => end("asked"));

  const target = `127.0.0.1:${await freePort()}`;
  await using demo = new Program(process.execPath, {
    args: ["--disable-sigusr1", PACEWATCH, "demo", "--listen", target],
    onOutput: (text) => void process.stdout.write(text),
  });
  await demo.ready(`http://${target}/-/ready`);
  await using monitoring = await startMonitoring({ prometheus, alertmanager, target });
  console.log(`
Prometheus and Alertmanager watch Pacewatch, with the rules that ship. Look at:

  ${monitoring.prometheusUrl}/alerts     what fires, and why
  ${monitoring.prometheusUrl}/graph      ask whatever you like
  ${monitoring.alertmanagerUrl}/    what people would be told
  http://${target}/    Pacewatch's own page

Ctrl-C ends all of it.
`);
  return (await Promise.race([asked, demo.ended])) === "asked" ? 0 : 1;
}
