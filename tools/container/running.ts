import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { Container, runIn } from "./container.ts";
import { versionIn, type Image } from "./image.ts";

const KEY = "test-key-container";
const PORT = 10429;
const CONFIG = `
budgets:
  local:
    rate: { requests: 600, per: 1m }
    share: 50%
upstreams:
  - name: local
    base_url: \${LOCAL_BASE_URL}
    auth: { bearer: { env: LOCAL_API_KEY } }
    budget: local
    every: 1s
    timeout: 1s
`;

const Surroundings = z.object({
  uid: z.number(),
  gid: z.number(),
  groups: z.array(z.number()),
  pid: z.number(),
  writable: z.array(z.string()),
});
const LOOK_AROUND = `
const { writeFileSync } = require("node:fs");
const writable = ["/app/x", "/app/config/x", "/app/lib/x", "/data/x", "/tmp/x", "/x"].filter((path) => {
  try { writeFileSync(path, ""); return true; } catch { return false; }
});
const { pid } = process;
console.log(JSON.stringify({ uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(), pid, writable }));
`;

/** The conditions of all that follows; without this check the others could pass as root on a writable disk. */
export async function checkSurroundings(image: Image): Promise<void> {
  const { output } = await runIn(image, { command: ["node", "-e", LOOK_AROUND] });
  const found = Surroundings.parse(JSON.parse(output));
  assert.deepEqual(found, { uid: 1000, gid: 1000, groups: [1000], pid: 1, writable: [] });
}

export async function checkVersion(image: Image): Promise<void> {
  // As it starts, and as people type it.
  for (const command of [image.entrypoint, ["pacewatch"]]) {
    const { code, output } = await runIn(image, { command: [...command, "--version"] });
    assert.equal(code, 0, output);
    assert.ok(output.includes(await versionIn(image)), output);
  }
}

/** The config that ships: every variable that it names is set, to something that needs no network. */
export async function checkShippedConfig(image: Image): Promise<void> {
  const text = await readFile(join(image.root, image.folder, "config/pacewatch.yaml"), "utf8");
  const named = [...text.matchAll(/\$\{(\w+)|\benv:\s*(\w+)/gu)].map(([, url, key]) => url ?? key ?? "");
  const env = Object.fromEntries(named.map((name) => [name, /URL/u.test(name) ? "http://127.0.0.1:9" : KEY]));
  const { code, output } = await runIn(image, { command: [...image.entrypoint, "check"], env });
  assert.equal(code, 0, output);
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return z.object({ port: z.number() }).parse(server.address()).port;
}

/** Whether something on this machine listens there already: the container shares the machine's network. */
async function isTaken(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    return await once(socket, "connect").then(
      () => true,
      () => false,
    );
  } finally {
    socket.destroy();
  }
}

async function eventually(what: string, container: Container, look: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await look().catch(() => false))) {
    assert.ok(!container.ended, `the daemon ended before ${what}: ${container.output}`);
    assert.ok(performance.now() < deadline, `not within 30 s: ${what}. The daemon said: ${container.output}`);
    await sleep(100);
  }
}

/** Runs the image's own command against an upstream on this machine, from the first poll to SIGTERM. */
export async function checkDaemon(image: Image, scratch: string): Promise<readonly string[]> {
  const notes: string[] = [];
  let authorized = 0;
  const upstream = createServer((request, response) => {
    authorized += request.headers.authorization === `Bearer ${KEY}` ? 1 : 0;
    response.setHeader("content-type", "application/json").end("{}");
  });
  const upstreamPort = await listen(upstream);
  await writeFile(join(scratch, "pacewatch.yaml"), CONFIG);

  const taken = await isTaken(PORT);
  if (taken) {
    notes.push(`port ${String(PORT)} is taken here: the daemon ran on another, with --listen`);
  }
  const command = taken ? ["run", "--listen", "127.0.0.1:0"] : image.command;
  await using daemon = new Container(image, {
    command: [...image.entrypoint, ...command],
    env: { LOCAL_BASE_URL: `http://127.0.0.1:${String(upstreamPort)}`, LOCAL_API_KEY: KEY },
    config: scratch,
  });
  try {
    let base = `http://127.0.0.1:${String(PORT)}`;
    await eventually("it said where it listens", daemon, async () => {
      const url = /"url":"(?<url>[^"]+)"/u.exec(daemon.output)?.groups?.["url"];
      base = taken && url !== undefined ? url.replace(/\/$/u, "") : base;
      return await Promise.resolve(daemon.output.includes('"msg":"listening"'));
    });
    const metrics = async (): Promise<string> => await (await fetch(`${base}/metrics`)).text();
    await eventually("a poll was counted as ok", daemon, async () =>
      /^pacewatch_polls_total\{(?=[^}]*upstream="local")(?=[^}]*outcome="ok")[^}]*\} [1-9]/mu.test(
        await metrics(),
      ),
    );
    assert.ok(authorized > 0, "the upstream was asked with the key");
    assert.ok(!(await metrics()).includes(KEY), "the key is not in the metrics");

    const health = {
      command: image.healthcheck.slice(1),
      env: taken ? { PACEWATCH_HEALTH_URL: `${base}/-/healthy` } : {},
    };
    const alive = await runIn(image, health);
    assert.equal(alive.code, 0, `the health check passes while the daemon runs: ${alive.output}`);

    await daemon.terminate();
    assert.equal(await daemon.exit(), 0, `SIGTERM ends the daemon with 0: ${daemon.output}`);
    assert.ok(!daemon.output.includes(KEY), "the key is not in the log");
    assert.equal((await runIn(image, health)).code, 1, "the health check fails once the daemon is gone");
  } finally {
    upstream.close();
    upstream.closeAllConnections();
  }
  return notes;
}
