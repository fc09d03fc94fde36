import { openStateStore } from "../features/state/store.ts";
import type { StateStore } from "../features/history/state.ts";
import type { Config } from "../kernel/config/config.ts";
import type { Opened } from "../platform/opened.ts";
import { type Lead, type Leading, leadOf } from "./features/lead.ts";
import { sendersOf } from "./features/proof.ts";
import { createLife, type Life, type LifeParts } from "./life.ts";
import type { AppReload } from "./reload.ts";

export type LivesParts = Omit<LifeParts, "leading" | "store" | "reload" | "status">;

/** What polls: one life for as long as this process is alone, or one after the other, each while it leads. */
export class Lives implements AsyncDisposable {
  readonly #parts: LivesParts;
  #life: Life | undefined;
  #lead: Lead | undefined;

  constructor(parts: LivesParts) {
    this.#parts = parts;
  }

  /** It may be there still, and be told of a reload, when this process leads no more, or does not lead for a while. */
  get life(): Life | undefined {
    return this.#life;
  }

  /** Undefined while this process is alone. */
  get lead(): Lead | undefined {
    return this.#lead;
  }

  /** Alone, it polls from now on. */
  async open(
    reload: AppReload,
    status: LifeParts["status"],
    store: StateStore | undefined,
  ): Promise<Opened<undefined>> {
    const parts = { ...this.#parts, reload, status };
    const begin = (leading: Leading | undefined, store: StateStore | undefined): Promise<Opened<undefined>> =>
      (this.#life = createLife(reload.config, { ...parts, leading, store })).start();
    const openLead = leadOf(reload.config);
    if (openLead === undefined) return begin(undefined, store);
    // It was opened to see that it can be: each life reads it anew.
    await store?.close();
    const inTurn = (act: () => Promise<unknown>): void => void reload.exclusively(act).catch(parts.onBug);
    const opened = await openLead({
      ...parts,
      config: () => reload.config,
      sendersOf,
      onLead: (leading) =>
        inTurn(async () => {
          // A reload may have ended since it won the lock.
          leading.termsChanged();
          const store = await this.#openStore(reload.config);
          await (leading.maySend() ? begin(leading, store) : store?.close());
        }),
      onLost: () => inTurn(() => this.#end()),
    });
    if (opened.kind === "refused") return opened;
    this.#lead = opened.what;
    return { kind: "opened", what: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const drained = this.#life?.drain() ?? Promise.resolve(new Map<string, number>());
    await (this.#lead?.stop(drained) ?? drained);
    await this.#end();
    await this.#lead?.[Symbol.asyncDispose]();
  }

  async #end(): Promise<void> {
    await this.#life?.[Symbol.asyncDispose]();
    this.#life = undefined;
  }

  /** Whoever leads polls also without its history. */
  async #openStore({ state }: Config): Promise<StateStore | undefined> {
    const { clock, log } = this.#parts;
    if (state === undefined) return undefined;
    const opened = await openStateStore({ path: state.path, clock, log });
    if (opened.kind === "opened") return opened.what;
    log.error({ faults: opened.faults }, "cannot open the state file: leading without it");
    return undefined;
  }
}
