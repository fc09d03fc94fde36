import type { Clock } from "../kernel/time/clock.ts";
import { type Marks, UNREADABLE, digestOf, hasChanged, markOf } from "../platform/mark.ts";
import { readRegularFile } from "../platform/regular-file.ts";

/** What came of the last reload, whoever asked for it; or of the start. */
export type LastReload = {
  /** Of the config's content. */
  readonly digest: string;
  /** The files whose content is a part of the config; where it was refused, all that the config names. */
  readonly files: Marks;
  /** On the clock, where it was refused. */
  readonly refusedAtMs: number | undefined;
};

/** The config changed; or it is the same that was refused, and it is tried again. */
export type WatchCause = "changed" | "again";

export type WatchOptions = {
  readonly clock: Clock;
  readonly last: () => LastReload;
  /** Called for one cause after the other, never concurrently. */
  readonly reload: (cause: WatchCause) => Promise<unknown>;
  /** Called for a bug in `reload`; watching continues. */
  readonly onError: (error: unknown) => void;
};

const LOOK_EVERY_MS = 1_000;
const SETTLE_MS = 250;
/** A cause may be mended where no file tells of it, such as a variable's value or a file of another host. */
const TRY_AGAIN_AFTER_MS = 10_000;

/**
 * Looks at the config's file and at those that are parts of it, and while a reload is refused also at the files that the
 * config names. It looks by itself, as events miss what a network file system or a link to another directory brings.
 */
export class ConfigWatch implements AsyncDisposable {
  readonly #path: string;
  readonly #options: WatchOptions;
  readonly #signal: AbortSignal;
  readonly #stop = new AbortController();
  #reloading: Promise<unknown> | undefined = undefined;
  #mark: string | undefined = undefined;

  constructor(path: string, options: WatchOptions, signal: AbortSignal) {
    this.#path = path;
    this.#options = options;
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    void this.#run();
  }

  /** Waits for a reload in progress, but not for a look: on a file system that hangs, it may never end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([this.#reloading]);
  }

  async #run(): Promise<void> {
    const { clock, reload, onError } = this.#options;
    while (!this.#signal.aborted) {
      let delayMs = LOOK_EVERY_MS;
      try {
        const cause = await this.#cause();
        if (cause !== undefined && !this.#signal.aborted) await (this.#reloading = reload(cause));
      } catch (error) {
        onError(error);
        delayMs = TRY_AGAIN_AFTER_MS;
        // The reload failed at an unknown point, so the file counts as changed: else it would never be read again.
        this.#mark = undefined;
      }
      await clock.sleep(delayMs, this.#signal);
    }
  }

  async #cause(): Promise<WatchCause | undefined> {
    const { clock, last } = this.#options;
    if (await this.#isAnother()) return "changed";
    const { refusedAtMs, files } = last();
    if (refusedAtMs !== undefined && clock.now() - refusedAtMs >= TRY_AGAIN_AFTER_MS) return "again";
    if (!(await hasChanged(files))) return undefined;
    if (refusedAtMs !== undefined) return "again";
    // It may be being written.
    await clock.sleep(SETTLE_MS, this.#signal);
    return "changed";
  }

  /** Only another content counts: not a touch, nor one that a reload has read already. */
  async #isAnother(): Promise<boolean> {
    const { clock, last } = this.#options;
    let mark = await markOf(this.#path);
    if (mark === this.#mark) return false;
    let digest = await currentDigest(this.#path);
    // A file may be read while it is being written: only a content that stays counts.
    while (digest !== last().digest && !this.#signal.aborted) {
      await clock.sleep(SETTLE_MS, this.#signal);
      mark = await markOf(this.#path);
      const later = await currentDigest(this.#path);
      if (later === digest) break;
      digest = later;
    }
    this.#mark = mark;
    return digest !== last().digest;
  }
}

/** A file that cannot be read counts as a content of its own: the reload reports what is wrong. */
async function currentDigest(path: string): Promise<string> {
  try {
    return digestOf(await readRegularFile(path));
  } catch {
    return UNREADABLE;
  }
}
