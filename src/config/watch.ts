import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock } from "../core/time/clock.ts";
import { createHash } from "node:crypto";

export type WatchOptions = {
  readonly clock: Clock;
  /** Of the content that runs now: only something else is a change. */
  readonly digest: string;
  /** Called for one change after the other, never twice at once. */
  readonly onChange: () => Promise<void>;
  /** A bug in `onChange`: watching goes on. */
  readonly onError: (error: unknown) => void;
  readonly debounceMs?: number;
  readonly pollMs?: number;
};

const DEBOUNCE_MS = 250;
/** Also while watching works: a network file system tells nothing, and a link may lead to another directory. */
const POLL_MS = 10_000;
/** The link that Kubernetes swaps; the file itself, a link through it, never stirs. */
const KUBERNETES_LINK = "..data";
const UNREADABLE = "unreadable";

/**
 * Watches the directory, not the file: Kubernetes swaps a link beside it, editors replace it, and a watch on
 * the file would follow the old one. What counts is the content alone.
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
  #isStirred = false;

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
      this.#isStirred = false;
      await this.#compare();
      await this.#stirredOrPolled();
    }
    this.#forget();
  }

  async #compare(): Promise<void> {
    const digest = await this.#settledDigest();
    if (digest === this.#digest || this.#signal.aborted) return;
    this.#digest = digest;
    try {
      await this.#options.onChange();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** A file that is being written is read half: what counts is a content that stays. */
  async #settledDigest(): Promise<string> {
    const { clock, debounceMs = DEBOUNCE_MS } = this.#options;
    let digest = await currentDigest(this.#path);
    while (digest !== this.#digest && !this.#signal.aborted) {
      // The directory may be gone too: the one that takes its place needs a watch of its own.
      if (digest === UNREADABLE) this.#forget();
      await clock.sleep(debounceMs, this.#signal);
      const later = await currentDigest(this.#path);
      if (later === digest) break;
      digest = later;
    }
    return digest;
  }

  async #stirredOrPolled(): Promise<void> {
    if (this.#isStirred || this.#signal.aborted) return;
    const { clock, pollMs = POLL_MS } = this.#options;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await clock.sleep(pollMs, AbortSignal.any([this.#signal, woken.signal]));
    this.#wake = () => {};
  }

  /** Where it fails, the next round tries again. */
  #watchDirectory(): void {
    if (this.#watcher !== undefined) return;
    try {
      this.#watcher = watch(dirname(this.#path), { persistent: false })
        .on("change", (_event, name) => this.#stir(String(name)))
        .on("error", () => this.#forget());
    } catch {
      this.#forget();
    }
  }

  #forget(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #stir(name: string): void {
    if (name !== basename(this.#path) && name !== KUBERNETES_LINK) return;
    this.#isStirred = true;
    this.#wake();
  }
}

/** A file that cannot be read is a content of its own: the reload will say what is wrong with it. */
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
