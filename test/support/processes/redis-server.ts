import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import type { LockRedis } from "../../../src/features/fleet/config.ts";
import { freePort } from "../../../tools/stack/free-port.ts";
import { requireBinary } from "./binaries.ts";
import { endWithUs } from "./ends-with-us.ts";
import { eventually } from "../eventually.ts";

export const REDIS_SERVER: string | undefined = requireBinary("redis-server");

/** A real Redis on a port of its own, with nothing in it. Whoever starts it ends it. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly #directory: string;
  readonly #args: readonly string[];
  #child: ChildProcess;

  private constructor(port: number, directory: string, args: readonly string[]) {
    this.port = port;
    this.#directory = directory;
    this.#args = args;
    this.#child = this.#spawn();
  }

  /** `args` may name the port with PORT, and files in its directory with DIR. */
  static async start(...args: readonly string[]): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), "redis-"));
    const server = new RedisServer(await freePort(), directory, args);
    await server.#listening();
    return server;
  }

  /** One that watches this master, and no other. */
  static async startSentinel(name: string, masterPort: number): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), "redis-"));
    const file = join(directory, "sentinel.conf");
    const lines = [
      `sentinel monitor ${name} 127.0.0.1 ${masterPort} 1`,
      `sentinel down-after-milliseconds ${name} 3000`,
    ];
    await writeFile(file, `${lines.join("\n")}\n`);
    const server = new RedisServer(await freePort(), directory, [file, "--sentinel"]);
    await server.#listening();
    return server;
  }

  /** Of a Sentinel: the port of whom it takes for the master. */
  async masterPort(name: string): Promise<number> {
    const [, port] = await this.#ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
    return Number(port);
  }

  /** Of a Sentinel that knows the master's replica by now. */
  async failOver(name: string): Promise<void> {
    await eventually("a failover begins", async () =>
      (await this.#ask("SENTINEL", "FAILOVER", name)).includes("OK"),
    );
  }

  get address(): LockRedis {
    return {
      nodes: { kind: "single", url: `redis://127.0.0.1:${this.port}` },
      username: undefined,
      password: undefined,
      tls: undefined,
      key: "pacewatch",
    };
  }

  /** Alive and silent: connections stay, nothing is answered. */
  halt(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGCONT");
    this.#child.kill("SIGKILL");
    await exited;
  }

  /** On the same port, as empty as in the beginning. */
  async restart(): Promise<void> {
    await this.stop();
    this.#child = this.#spawn();
    await this.#listening();
  }

  async empty(): Promise<void> {
    await this.#ask("flushall");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #spawn(): ChildProcess {
    const isSentinel = this.#args.includes("--sentinel");
    const own = ["--bind", "127.0.0.1", "--dir", this.#directory, ...(isSentinel ? [] : ["--save", ""])];
    const port = this.#args.includes("--port") ? [] : ["--port", String(this.port)];
    const given = this.#args.map((arg) =>
      arg.replaceAll("PORT", String(this.port)).replaceAll("DIR", this.#directory),
    );
    const child = spawn(REDIS_SERVER ?? "redis-server", [...given, ...port, ...own], { stdio: "ignore" });
    endWithUs(child);
    return child;
  }

  /** The lines of its answer. */
  async #ask(...command: readonly string[]): Promise<readonly string[]> {
    const { stdout } = await promisify(execFile)("redis-cli", ["-p", String(this.port), ...command]);
    return stdout.split("\n");
  }

  async #listening(): Promise<void> {
    const child = this.#child;
    await eventually(`Redis listens on ${this.port}`, () => {
      if (child.exitCode !== null) throw new Error(`cannot start Redis: it ended with ${child.exitCode}`);
      return answers(this.port);
    });
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
