import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "./daemon.ts";

/** Where Debian's package libfaketime puts it. */
const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
);

/** The library that lies about the wall clock, if this machine has it; where everything must be, it must be there. */
export function requireFakeTime(): string | undefined {
  const found = LIBRARIES.find((path) => existsSync(path));
  if (found === undefined) {
    const fault = "cannot step a program's clock: the package libfaketime must be installed";
    if (process.env["CI"] === "true") throw new Error(fault);
    process.stderr.write(`\n*** SKIPPED: ${fault}\n\n`);
  }
  return found;
}

/** A wall clock for other programs, that can be stepped while they run. Their monotonic clock stays true. */
export class WallClock implements AsyncDisposable {
  readonly #folder: string;
  readonly #library: string;

  constructor(folder: string, library: string) {
    this.#folder = folder;
    this.#library = library;
  }

  get environment(): Environment {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** Away from the true time. */
  async setOffset(seconds: number): Promise<void> {
    const next = `${this.#file}.next`;
    await writeFile(next, `${seconds < 0 ? "" : "+"}${seconds}\n`);
    // In one step: half a file would be another time.
    await rename(next, this.#file);
  }

  get #file(): string {
    return join(this.#folder, "offset");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export async function openWallClock(library: string): Promise<WallClock> {
  const clock = new WallClock(await mkdtemp(join(tmpdir(), "pacewatch-clock-")), library);
  await clock.setOffset(0);
  return clock;
}
