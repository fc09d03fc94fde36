import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import type { FileMarks, WebConfig, WebTls } from "./web-config.ts";

export type Following = {
  readonly recheckMs: number;
  readonly renew: (tls: WebTls) => void;
  readonly onWarning: (message: string) => void;
};

/** The web config as it is now: the file and its certificates may change while the server runs. */
export class LiveWebConfig {
  readonly #path: string | undefined;
  #config: WebConfig = { tls: undefined, headers: {}, users: new Map() };
  #marks: FileMarks = new Map();

  private constructor(path: string | undefined) {
    this.#path = path;
  }

  /** Rejects with all faults, one a line. Without a path it is plain HTTP for everybody. */
  static async open(path: string | undefined): Promise<LiveWebConfig> {
    const live = new LiveWebConfig(path);
    if (path === undefined) return live;
    const { loadWebConfig } = await reader();
    const loaded = await loadWebConfig(path);
    if (loaded.kind === "refused") throw new Error(loaded.faults.join("\n"));
    live.#config = loaded.config;
    live.#marks = loaded.marks;
    return live;
  }

  get config(): WebConfig {
    return this.#config;
  }

  /**
   * Until the signal aborts. It looks rather than being told: watching a file misses every second swap of a
   * Kubernetes volume. What cannot be used leaves all as it was, with one warning for each change.
   */
  async follow({ recheckMs, renew, onWarning }: Following, signal: AbortSignal): Promise<void> {
    if (this.#path === undefined) return;
    const { loadWebConfig, lookAgain } = await reader();
    while (await pause(recheckMs, signal)) {
      if (isDeepStrictEqual(this.#marks, await lookAgain(this.#marks))) continue;
      const loaded = await loadWebConfig(this.#path);
      this.#marks = loaded.marks;
      const faults = loaded.kind === "refused" ? loaded.faults : this.#take(loaded.config, renew);
      if (faults.length > 0)
        onWarning(`cannot use the changed web config, the old one stays: ${faults.join("; ")}`);
    }
  }

  #take(next: WebConfig, renew: (tls: WebTls) => void): readonly string[] {
    const { tls } = this.#config;
    if ((tls === undefined) !== (next.tls === undefined))
      return ["TLS can only be switched on or off by a restart"];
    if (tls?.clientAuth !== next.tls?.clientAuth)
      return ['"client_auth_type" can only be changed by a restart'];
    if (next.tls !== undefined) renew(next.tls);
    this.#config = next;
    return [];
  }
}

/** Loaded for those alone who have such a file: what reads it is large. */
function reader(): Promise<typeof import("./web-config.ts")> {
  return import("./web-config.ts");
}

/** False when it is time to end. */
async function pause(delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(delayMs, undefined, { signal, ref: false });
    return true;
  } catch {
    return false;
  }
}
