import { setTimeout as sleep } from "node:timers/promises";
import type { WebConfig, WebConfigReading, WebTls } from "../../core/config/web-config.ts";

/** The web config file and the certificates that it names. */
export interface WebConfigSource {
  read(): Promise<WebConfigReading>;
  /** Whether one of the files has changed since it was read. */
  hasChanged(): Promise<boolean>;
}

export type Following = {
  readonly recheckMs: number;
  readonly renew: (tls: WebTls) => void;
  readonly onWarning: (message: string) => void;
};

/** The web config as it is now: its files may change while the server runs. */
export class LiveWebConfig {
  readonly #source: WebConfigSource | undefined;
  #config: WebConfig = { tls: undefined, headers: {}, users: new Map() };

  private constructor(source: WebConfigSource | undefined) {
    this.#source = source;
  }

  /** Rejects with all faults, one a line. Without a source it is plain HTTP for everybody. */
  static async open(source: WebConfigSource | undefined): Promise<LiveWebConfig> {
    const live = new LiveWebConfig(source);
    const reading = await source?.read();
    if (reading?.kind === "refused") throw new Error(reading.faults.join("\n"));
    if (reading !== undefined) live.#config = reading.config;
    return live;
  }

  get config(): WebConfig {
    return this.#config;
  }

  /**
   * Until the signal aborts. It polls: watching a file misses every second swap of a Kubernetes volume. What
   * cannot be used leaves all as it was, with one warning for each change.
   */
  async follow({ recheckMs, renew, onWarning }: Following, signal: AbortSignal): Promise<void> {
    const source = this.#source;
    if (source === undefined) return;
    while (await pause(recheckMs, signal)) {
      if (!(await source.hasChanged())) continue;
      const reading = await source.read();
      const faults = reading.kind === "refused" ? reading.faults : this.#take(reading.config, renew);
      if (faults.length > 0)
        onWarning(`cannot use the changed web config, keeping the old one: ${faults.join("; ")}`);
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

/** False when it is time to end. */
async function pause(delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(delayMs, undefined, { signal, ref: false });
    return true;
  } catch {
    return false;
  }
}
