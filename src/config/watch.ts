import type { Clock } from "../kernel/time/clock.ts";
import { type Marks, UNREADABLE, digestOf, hasChanged, markOf } from "../platform/mark.ts";
import { readRegularFile } from "../platform/regular-file.ts";

/** The last reload ended so, whoever asked for it; or the start did. */
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
 * Disposing of it waits for a reload in progress, but not for a look: on a file system that hangs, it may never end.
 */
export function watchConfig(
  path: string,
  { clock, last, reload, onError }: WatchOptions,
  ending: AbortSignal,
): AsyncDisposable {
  const stop = new AbortController();
  const signal = AbortSignal.any([ending, stop.signal]);
  let reloading: Promise<unknown> | undefined;
  let seen: string | undefined;

  /** Only another content counts: not a touch, nor one that a reload has read already. */
  async function isAnother(): Promise<boolean> {
    let mark = await markOf(path);
    if (mark === seen) return false;
    let digest = await currentDigest(path);
    // A file may be read while it is being written: only a content that stays counts.
    while (digest !== last().digest && !signal.aborted) {
      await clock.sleep(SETTLE_MS, signal);
      mark = await markOf(path);
      const later = await currentDigest(path);
      if (later === digest) break;
      digest = later;
    }
    seen = mark;
    return digest !== last().digest;
  }

  async function causeNow(): Promise<WatchCause | undefined> {
    if (await isAnother()) return "changed";
    const { refusedAtMs, files } = last();
    if (refusedAtMs !== undefined && clock.now() - refusedAtMs >= TRY_AGAIN_AFTER_MS) return "again";
    if (!(await hasChanged(files))) return undefined;
    if (refusedAtMs !== undefined) return "again";
    // It may be being written.
    await clock.sleep(SETTLE_MS, signal);
    return "changed";
  }

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      let delayMs = LOOK_EVERY_MS;
      try {
        const cause = await causeNow();
        if (cause !== undefined && !signal.aborted) await (reloading = reload(cause));
      } catch (error) {
        onError(error);
        delayMs = TRY_AGAIN_AFTER_MS;
        // The reload failed at an unknown point, so the file counts as changed: else it would never be read again.
        seen = undefined;
      }
      await clock.sleep(delayMs, signal);
    }
  }

  void watch();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.allSettled([reloading]);
    },
  };
}

/** A file that cannot be read counts as a content of its own: the reload reports what is wrong. */
async function currentDigest(path: string): Promise<string> {
  try {
    return digestOf(await readRegularFile(path));
  } catch {
    return UNREADABLE;
  }
}
