import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

const EPOCH_S = 0;

/** Runs a program to its end; rejects with what it printed when it fails. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, [...args], { maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

/** Buildah with a storage of its own, which is gone with it: plain copies of whole layers are gigabytes. */
export class Buildah implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<Buildah> {
    return new Buildah(await mkdtemp(join(tmpdir(), "pacewatch-image-")));
  }

  #storage(): readonly string[] {
    return [
      "--storage-driver",
      "vfs",
      "--root",
      join(this.folder, "storage"),
      "--runroot",
      join(this.folder, "run"),
    ];
  }

  async do(...args: readonly string[]): Promise<string> {
    return await run("buildah", [...this.#storage(), ...args]);
  }

  /** Builds a Dockerfile. Only what is stored here is built on: nothing is pulled. */
  async build(tag: string, context: string, dockerfile: string): Promise<string> {
    return await this.do(
      "build",
      "--isolation",
      "chroot",
      "--network",
      "host",
      "--pull-never",
      // The OCI image format has no HEALTHCHECK.
      "--format",
      "docker",
      // In every layer, as SOURCE_DATE_EPOCH is elsewhere.
      "--timestamp",
      String(EPOCH_S),
      // Or a second build would be the first one.
      "--no-cache",
      "--tag",
      tag,
      "--file",
      dockerfile,
      context,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
