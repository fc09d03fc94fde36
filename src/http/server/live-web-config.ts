import type { Opened } from "../../platform/opened.ts";
import type { WebConfig, WebTls } from "../../kernel/config/web-config.ts";
import { changesBetween, type Named, namedTexts } from "../../platform/changes.ts";
import type { Clock } from "../../kernel/time/clock.ts";

/** The web config file and the certificates that it names. */
export interface WebConfigSource {
  read(): Promise<Opened<WebConfig>>;
  /** Whether one of the files has changed since it was read. */
  hasChanged(): Promise<boolean>;
}

export type FollowOptions = {
  readonly clock: Pick<Clock, "sleep">;
  readonly recheckMs: number;
  readonly renew: (tls: WebTls) => void;
  readonly onWarning: (message: string) => void;
  /** For the log: what a changed file has changed. */
  readonly onChange: (changes: readonly string[]) => void;
};

/** 10 s, where it looks every second. */
const LOOKS_UNTIL_READ_AGAIN = 10;

/** The web config as it is now: its files may change while the server runs. */
export class LiveWebConfig {
  readonly #source: WebConfigSource | undefined;
  #config: WebConfig = { tls: undefined, headers: {}, users: new Map() };

  private constructor(source: WebConfigSource | undefined) {
    this.#source = source;
  }

  /** Without a source it is plain HTTP for everybody. */
  static async open(source: WebConfigSource | undefined): Promise<Opened<LiveWebConfig>> {
    const live = new LiveWebConfig(source);
    const reading = await source?.read();
    if (reading?.kind === "refused") return reading;
    if (reading !== undefined) live.#config = reading.what;
    return { kind: "opened", what: live };
  }

  get config(): WebConfig {
    return this.#config;
  }

  /**
   * Until the signal aborts. It polls: watching a file misses every second swap of a Kubernetes volume. What
   * cannot be used leaves all as it was, with one warning for each change. A file may be read while it is being written:
   * what was read is used when the next look finds the same. What was refused is read again, as a file may be
   * unreadable for a while without ever changing.
   */
  async follow(options: FollowOptions, signal: AbortSignal): Promise<void> {
    const { clock, recheckMs, onWarning } = options;
    const source = this.#source;
    if (source === undefined) return;
    /** It was read at the last look, and is used at this one, unless the files change again. */
    let reading: Opened<WebConfig> | undefined;
    /** The log holds this fault already. What it is of was tried so many looks ago. */
    let told: string | undefined;
    let looks = 0;
    for (;;) {
      await clock.sleep(recheckMs, signal);
      if (signal.aborted) return;
      const hasChanged = await source.hasChanged();
      if (signal.aborted) return;
      looks += 1;
      if (hasChanged) {
        told = undefined;
        reading = await source.read();
      } else if (reading !== undefined) {
        const fault = this.#use(reading, options);
        if (fault !== undefined && fault !== told) onWarning(fault);
        [told, reading, looks] = [fault, undefined, 1];
      } else if (told !== undefined && looks >= LOOKS_UNTIL_READ_AGAIN) reading = await source.read();
    }
  }

  /** The sentence of a refusal. */
  #use(reading: Opened<WebConfig>, { renew, onChange }: FollowOptions): string | undefined {
    const before = this.#config;
    const faults = reading.kind === "refused" ? reading.faults : this.#take(reading.what, renew);
    if (faults.length > 0)
      return `cannot use the changed web config, keeping the old one: ${faults.join("; ")}`;
    const changes = changesOf(before, this.#config);
    if (changes.length > 0) onChange(changes);
    return undefined;
  }

  /** A file that is cut short looks like one without users, or without TLS: the door is opened by a restart only. */
  #take(next: WebConfig, renew: (tls: WebTls) => void): readonly string[] {
    const { tls, users } = this.#config;
    if (users.size > 0 && next.users.size === 0)
      return ["basic auth can only be switched off by a restart, and it names no user"];
    if ((tls === undefined) !== (next.tls === undefined))
      return ["TLS can only be switched on or off by a restart"];
    if (tls?.clientAuth !== next.tls?.clientAuth)
      return ['"client_auth_type" can only be changed by a restart'];
    if (next.tls !== undefined) renew(next.tls);
    this.#config = next;
    return [];
  }
}

function changesOf(before: WebConfig, after: WebConfig): readonly string[] {
  return [
    ...changesBetween("users", before.users, after.users),
    ...changesBetween("settings", settingsOf(before), settingsOf(after)),
  ];
}

function settingsOf({ tls, headers }: WebConfig): Named {
  return namedTexts({ tls, headers });
}
