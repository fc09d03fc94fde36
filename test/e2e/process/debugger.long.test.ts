import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { endWithUs } from "../../support/processes/ends-with-us.ts";

const ROOT = join(import.meta.dirname, "../../..");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const textOf = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const entrypoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(textOf("Dockerfile"))?.[1] ?? "[]") as string[];
const unit = /^ExecStart=\S+ (.*) run /m.exec(textOf("deploy/systemd/pacewatch.service"))?.[1] ?? "";

/** What a shell here would run to start it as it ships. */
const WAYS: Readonly<Record<string, string>> = {
  "as a program": "exec bin/pacewatch.mjs run",
  "by npm start": scripts["start"] ?? "",
  "by npm run pacewatch": `${scripts["pacewatch"]} run`,
  "by npm run demo": scripts["demo"] ?? "",
  "by systemd": `exec node ${unit.replaceAll("/opt/pacewatch/lib/node_modules/pacewatch/", "")} run`,
  "in the image": `exec ${entrypoint.join(" ")} run`,
};

/** SIGUSR1's bit in the masks of /proc/PID/status. */
const USR1 = 0x2_00n;

/** Whether Node.js has decided what the signal does. Before that, and in the shell that looks for it, it ends the process. */
function hasDecided(pid: number): boolean {
  if (basename(readlinkSync(`/proc/${pid}/exe`)) !== "node") return false;
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const masks = [...status.matchAll(/^Sig(?:Blk|Cgt):\s*([0-9a-f]+)$/gm)];
  return masks.some(([, mask]) => (BigInt(`0x${mask}`) & USR1) !== 0n);
}

describe.skipIf(process.platform !== "linux")("SIGUSR1 opens no debugger", () => {
  it.each(Object.entries(WAYS))("from the first moment on, started %s", async (_, command) => {
    await using folder = await openConfigFolder({
      budgets: { api: { rate: { requests: 600, per: "1m" } } },
      upstreams: [rawUpstream("email", "http://127.0.0.1:9")],
    });
    const config = command.includes("demo") ? "" : `--config ${folder.path}`;
    const child = spawn("sh", ["-c", `${command} ${config} --listen 127.0.0.1:0`], {
      cwd: ROOT,
      env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` },
      stdio: ["ignore", "pipe", "pipe"],
    });
    endWithUs(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const ended = once(child, "close");
    const pid = child.pid ?? 0;
    while (!hasDecided(pid)) await new Promise(setImmediate);
    const signals = setInterval(() => child.kill("SIGUSR1"), 5);
    child.kill("SIGUSR1");
    await eventually("it listens", () => output.includes("listening"));
    clearInterval(signals);
    child.kill("SIGTERM");
    expect([(await ended)[0], output.includes("Debugger listening")]).toEqual([0, false]);
  });
});

describe("a debugger that is open from the start", () => {
  it.each([
    ["--inspect", ["--inspect=127.0.0.1:0"], {}],
    ["NODE_OPTIONS", [], { NODE_OPTIONS: "--inspect=127.0.0.1:0" }],
  ])("is warned of, by %s", async (_, args, env) => {
    await using folder = await openConfigFolder({
      budgets: { api: { rate: { requests: 600, per: "1m" } } },
      upstreams: [rawUpstream("email", "http://127.0.0.1:9")],
    });
    const command = [...args, "bin/pacewatch.mjs", "run", "--config", folder.path, "--listen", "127.0.0.1:0"];
    const child = spawn(process.execPath, command, { cwd: ROOT, env, stdio: ["ignore", "pipe", "ignore"] });
    endWithUs(child);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    await eventually("it listens", () => output.includes('"msg":"listening"'));
    child.kill("SIGTERM");
    await once(child, "close");
    const warnings = output.split("\n").filter((line) => line.includes("a debugger is open"));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? "")).toMatchObject({
      address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    });
  });
});
