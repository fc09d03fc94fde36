import { createLogRecorder, type Logger } from "./adapters/pino.ts";
import type { Config } from "./core/config.ts";
import { History } from "./core/history.ts";
import type { Clock } from "./core/ports.ts";
import type { StateStore } from "./core/state.ts";
import { Watch } from "./core/watch.ts";

/** What is kept of each upstream: it comes with the first look at it, and goes when it leaves the config. */
export class AppWatches {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #store: StateStore | undefined;
  readonly #watches = new Map<string, Watch>();

  /** Without a store, history begins and ends with the process. */
  constructor(clock: Clock, log: Logger, store?: StateStore) {
    this.#clock = clock;
    this.#log = log;
    this.#store = store;
  }

  find(name: string): Watch | undefined {
    return this.#watches.get(name);
  }

  of(name: string): Watch {
    const known = this.#watches.get(name);
    if (known !== undefined) return known;
    const history = new History(name, this.#clock.wallNow(), this.#store?.restored(name));
    const saving = this.#store === undefined ? [] : [this.#store.recorderOf(name, history)];
    const watch = new Watch(history, [createLogRecorder(this.#log, name), ...saving]);
    this.#watches.set(name, watch);
    return watch;
  }

  keepOnly(config: Config): void {
    const names = new Set(config.upstreams.map((upstream) => upstream.name));
    for (const name of this.#watches.keys()) if (!names.has(name)) this.#watches.delete(name);
  }
}
