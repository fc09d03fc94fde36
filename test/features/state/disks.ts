import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Some troubles only root can make. Without the right to, their tests are skipped, and that is said aloud; where
 * everything is promised to be possible (root, with CI=true), it is a fault.
 */
function asRoot(program: string, ...args: readonly string[]): boolean {
  const { status, stderr, error } = run(program, ...args);
  if (status === 0) return true;
  const fault = `cannot run "${program} ${args.join(" ")}": ${error?.message ?? stderr.trim()}`;
  if (process.env["CI"] === "true" && process.getuid?.() === 0) throw new Error(fault);
  process.stderr.write(`\n*** SKIPPED: ${fault}\n\n`);
  return false;
}

function run(program: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(program, args, { encoding: "utf8" });
}

/** A disk of its own that can be filled to the last byte. */
export class SmallDisk implements Disposable {
  readonly path: string;
  #files = 0;

  private constructor(path: string) {
    this.path = path;
  }

  static mount(path: string, size: string): SmallDisk | undefined {
    mkdirSync(path);
    return asRoot("mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path)
      ? new SmallDisk(path)
      : undefined;
  }

  fill(): void {
    for (;;) {
      try {
        writeFileSync(join(this.path, `filler-${this.#files}`), new Uint8Array(4_096));
        this.#files += 1;
      } catch {
        return;
      }
    }
  }

  empty(): void {
    for (let file = 0; file <= this.#files; file += 1)
      rmSync(join(this.path, `filler-${file}`), { force: true });
    this.#files = 0;
  }

  [Symbol.dispose](): void {
    run("umount", "--lazy", this.path);
  }
}

/** Files that not even root may write. */
export class Immutable implements Disposable {
  readonly #paths: readonly string[];

  private constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  static make(...paths: readonly string[]): Immutable | undefined {
    return asRoot("chattr", "+i", ...paths) ? new Immutable(paths) : undefined;
  }

  [Symbol.dispose](): void {
    run("chattr", "-i", ...this.#paths);
  }
}
