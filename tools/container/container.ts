import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Image } from "./image.ts";

/**
 * What `docker run --read-only --mount …` does, with the tools that every Debian has: buildah's own chroot
 * isolation knows neither a read-only root nor a PID namespace, and both are promises of the image.
 */
const ENTER = `
set -e
root=$1 user=$2 config=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
if [ -n "$config" ]; then
  mount --bind "$config" "$root/app/config"
  mount -o remount,bind,ro "$root/app/config"
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec chroot --groups= --userspec="$user" "$root" "$@"
`;

export type Start = {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A folder of this machine that is mounted over /app/config. */
  readonly config?: string;
};

/** One process in a container: number 1 of its own process namespace, on the network of this machine. */
export class Container implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number>;
  readonly #kill = (): void => {
    this.#child.kill("SIGKILL");
  };
  #output = "";

  constructor(image: Image, start: Start) {
    const env = Object.entries(start.env ?? {}).map(([name, value]) => `${name}=${value}`);
    const namespaces = ["--mount", "--pid", "--fork", "--kill-child"];
    const enter = ["/bin/sh", "-c", ENTER, "enter", image.root, image.user, start.config ?? ""];
    const surroundings = ["--ignore-environment", `--chdir=${image.folder}`, ...image.env, ...env];
    this.#child = spawn(
      "unshare",
      [...namespaces, ...enter, "/usr/bin/env", ...surroundings, ...start.command],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    process.once("exit", this.#kill);
    const hear = (chunk: Buffer): void => {
      this.#output += chunk.toString();
    };
    this.#child.stdout?.on("data", hear);
    this.#child.stderr?.on("data", hear);
    this.#exit = once(this.#child, "close").then(([code]: readonly unknown[]) =>
      typeof code === "number" ? code : -1,
    );
  }

  /** What it has printed so far. */
  get output(): string {
    return this.#output;
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** As `docker stop` does: to process 1 itself, which has only the handlers that it installed. */
  async terminate(): Promise<void> {
    const outside = String(this.#child.pid);
    const inside = await readFile(`/proc/${outside}/task/${outside}/children`, "utf8");
    process.kill(Number(inside.trim()), "SIGTERM");
  }

  async exit(): Promise<number> {
    return await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#exit;
    process.off("exit", this.#kill);
  }
}

/** Runs one command to its end. */
export async function runIn(
  image: Image,
  start: Start,
): Promise<{ readonly code: number; readonly output: string }> {
  await using container = new Container(image, start);
  return { code: await container.exit(), output: container.output };
}
