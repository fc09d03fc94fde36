// Starts the daemon and every thread that it can start, then stops it, to fill the compile cache. An image ships that
// cache, because nothing is written in it later.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const GIVE_UP_AFTER_MS = 60_000;
/**
 * So many that the daemon writes the cache as soon as it listens, so that what is in it depends on no timing. Nothing
 * listens at their address.
 */
const UPSTREAMS = 60;

/** "test-password", as bcrypt writes it. */
const TEST_PASSWORD_HASH = "$2b$10$E8RIWVUJHO3ZnwyheqoKHetKZr2FQDzJ51kH0VPUTLmU4DQkcoDa.";

const folder = await mkdtemp(join(tmpdir(), "pacewatch-warm-"));
const config = join(folder, "pacewatch.yaml");
const upstreams = Array.from({ length: UPSTREAMS }, (_, number) => ({
  name: `warm-${number}`,
  base_url: "http://127.0.0.1:9",
  auth: { none: true },
  budget: "warm",
  every: "1h",
}));
const budgets = { warm: { rate: { requests: 1_000, per: "1m" } } };
const web = { config_file: "web.yaml" };
await writeFile(config, JSON.stringify({ web, state: { path: "state.db" }, budgets, upstreams }));
const users = { warm: TEST_PASSWORD_HASH };
await writeFile(join(folder, web.config_file), JSON.stringify({ basic_auth_users: users }));
const headers = { Authorization: `Basic ${btoa("warm:test-password")}` };

const program = fileURLToPath(new URL("pacewatch.mjs", import.meta.url));
// V8 writes hashes of names into the cache, under a random seed. With a fixed one two builds write the same bytes. Who
// reads the cache has a seed of its own, and V8 hashes the names anew.
const args = ["--random-seed=1", program, "run", "--config", config, "--listen", "127.0.0.1:0"];
const daemon = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
const ended = once(daemon, "exit");
process.once("exit", () => daemon.kill("SIGKILL"));
setTimeout(() => daemon.kill("SIGKILL"), GIVE_UP_AFTER_MS).unref();
const lines = createInterface({ input: daemon.stdout })[Symbol.asyncIterator]();

const { url } = await logged("listening");
for (const path of ["/metrics", "/", "/api/v1/upstreams", "/upstreams/warm-0"]) {
  const answer = await fetch(url + path, { headers });
  if (!answer.ok) throw new Error(`cannot warm up: ${path} answered ${answer.status}`);
  await answer.arrayBuffer();
}
daemon.kill("SIGHUP");
await logged("config reloaded");
daemon.kill("SIGTERM");
const [code] = await ended;
await rm(folder, { recursive: true, force: true });
process.exitCode = code ?? 1;

/** Waits for the log line with this message. */
async function logged(message) {
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
    const line = JSON.parse(next.value);
    if (line.msg === message) return line;
  }
  throw new Error(`cannot warm up: it ended before it logged "${message}"`);
}
