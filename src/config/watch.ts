import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock } from "../core/time/clock.ts";
import { createHash } from "node:crypto";

export type WatchOptions = {
  readonly clock: Clock;
  /** Of the content that runs now: a change is any other content. */
  readonly digest: string;
  /** Called for one change after the other, never concurrently. */
  readonly onChange: () => Promise<void>;
  /** Called for a bug in `onChange`; watching continues. */
  readonly onError: (error: unknown) => void;
  readonly debounceMs?: number;
  readonly pollMs?: number;
};

const DEBOUNCE_MS = 250;
/** Also while watching works: a network file system sends no events, and a link may lead to another directory. */
const POLL_MS = 10_000;
/** The link that Kubernetes swaps. The file itself is a link through it, and never changes. */
const KUBERNETES_LINK = "..data";
const UNREADABLE = "unreadable";

/**
 * Watches the directory, not the file: Kubernetes swaps a link beside it, editors replace it, and a watch on
 * the file would follow the old one. Only a different content counts as a change.
 */
export class ConfigWatch implements AsyncDisposable {
  readonly #path: string;
  readonly #options: WatchOptions;
  readonly #signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #digest: string;
  #watcher: FSWatcher | undefined = undefined;
  #wake: () => void = () => {};
  #hasChange = false;

  constructor(path: string, options: WatchOptions, signal: AbortSignal) {
    this.#path = path;
    this.#options = options;
    this.#digest = options.digest;
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    this.#done = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#signal.aborted) {
      this.#watchDirectory();
      this.#hasChange = false;
      await this.#compare();
      await this.#changeOrTimeout();
    }
    this.#unwatch();
  }

  async #compare(): Promise<void> {
    const digest = await this.#stableDigest();
    if (digest === this.#digest || this.#signal.aborted) return;
    this.#digest = digest;
    try {
      await this.#options.onChange();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** A file may be read while it is being written: only a content that stays counts. */
  async #stableDigest(): Promise<string> {
    const { clock, debounceMs = DEBOUNCE_MS } = this.#options;
    let digest = await currentDigest(this.#path);
    while (digest !== this.#digest && !this.#signal.aborted) {
      // The directory may be gone too; the one that replaces it needs a watch of its own.
      if (digest === UNREADABLE) this.#unwatch();
      await clock.sleep(debounceMs, this.#signal);
      const later = await currentDigest(this.#path);
      if (later === digest) break;
      digest = later;
    }
    return digest;
  }

  async #changeOrTimeout(): Promise<void> {
    if (this.#hasChange || this.#signal.aborted) return;
    const { clock, pollMs = POLL_MS } = this.#options;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await clock.sleep(pollMs, AbortSignal.any([this.#signal, woken.signal]));
    this.#wake = () => {};
  }

  /** If it fails, the next round tries again. */
  #watchDirectory(): void {
    if (this.#watcher !== undefined) return;
    try {
      this.#watcher = watch(dirname(this.#path), { persistent: false })
        .on("change", (_event, name) => this.#noteChange(String(name)))
        .on("error", () => this.#unwatch());
    } catch {
      this.#unwatch();
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #noteChange(name: string): void {
    if (name !== basename(this.#path) && name !== KUBERNETES_LINK) return;
    this.#hasChange = true;
    this.#wake();
  }
}

/** A file that cannot be read counts as a content of its own: the reload reports what is wrong. */
async function currentDigest(path: string): Promise<string> {
  try {
    return digestOf(await readFile(path));
  } catch {
    return UNREADABLE;
  }
}

/** Tells whether a file has changed. */
export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
