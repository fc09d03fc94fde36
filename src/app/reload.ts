import type { AppPolling } from "./polling.ts";
import { faultsOfKeys, textOf, type TransportParts } from "./probes.ts";
import type { Loading } from "../config/load.ts";
import { formatFault } from "../config/read/fault.ts";
import { loadInThread } from "./load-thread.ts";
import type { ReloadStatus } from "../features/status/status.ts";
import type { LastReload, WatchCause } from "../config/watch.ts";
import type { Config } from "../kernel/config/config.ts";
import type { Proof } from "../proof/proof.ts";
import type { LocalLedger } from "../kernel/budget/local-ledger.ts";
import { changesBetween, type Named, namedTexts } from "../platform/changes.ts";
import type { ReloadResult } from "../http/routes/routes.ts";
import type { Logger } from "../features/log/logger.ts";

export type ReloadParts = TransportParts & {
  readonly configPath: string;
  readonly withdraw: (variables: readonly string[]) => void;
  /** Undefined while another process leads. */
  readonly life: () =>
    | { readonly budgets: { readonly ledger: LocalLedger }; readonly polling: AppPolling }
    | undefined;
  /** Aborts when the app stops. */
  readonly stopping: AbortSignal;
  /** Called once another config runs. */
  readonly onChanged: (config: Config) => void;
  readonly log: Logger;
};

/** The config that runs first. */
export type LoadedConfig = Pick<
  Loading & { kind: "loaded" },
  "config" | "shown" | "proof" | "digest" | "parts"
>;

/** Parse, prove, build, then swap in one step: on any fault the old config keeps running, untouched. */
export class AppReload implements AsyncDisposable {
  readonly #parts: ReloadParts;
  #config: Config;
  #shown: string;
  #proof: Proof;
  #status: ReloadStatus;
  #last: LastReload;
  /** While a refused config is tried again by itself, each of its faults is logged once. */
  readonly #told = new Set<string>();
  /** One after the other: SIGHUP, a changed file, a POST. */
  #turn: Promise<unknown> = Promise.resolve();
  /** It has not read the file yet: whoever asks meanwhile gets its answer. */
  #next: Promise<ReloadResult> | undefined;

  constructor({ config, shown, proof, digest, parts: files }: LoadedConfig, parts: ReloadParts) {
    this.#config = config;
    this.#shown = shown;
    this.#proof = proof;
    this.#last = { digest, files, refusedAtMs: undefined };
    this.#parts = parts;
    this.#status = { successful: true, lastSuccessAtMs: parts.clock.wallNow() };
  }

  get config(): Config {
    return this.#config;
  }

  /** The config that runs, as it is written. */
  get shown(): string {
    return this.#shown;
  }

  /** Of the config that runs. */
  get proof(): Proof {
    return this.#proof;
  }

  get status(): ReloadStatus {
    return this.#status;
  }

  get last(): LastReload {
    return this.#last;
  }

  run(cause: WatchCause | "asked"): Promise<ReloadResult> {
    // Whoever asks is told each fault, also one that was told before.
    if (cause !== "again") this.#told.clear();
    if (this.#next !== undefined) return this.#next;
    const next = this.#turn.then(() => {
      this.#next = undefined;
      return this.#reload();
    });
    this.#next = next;
    // A bug: what runs is not what was asked for.
    this.#turn = next.catch(() => (this.#status = { ...this.#status, successful: false, fault: undefined }));
    return next;
  }

  /** Waits for the one in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
  }

  async #reload(): Promise<ReloadResult> {
    const { configPath, environment, log, clock, stopping } = this.#parts;
    if (stopping.aborted) return { kind: "refused", faults: ["cannot reload: pacewatch is shutting down"] };
    const before = this.#config;
    const loaded = await loadInThread(configPath, environment);
    const faults = await this.#swap(loaded);
    const [fault] = faults;
    const { digest, files, parts } = loaded;
    if (fault !== undefined) {
      this.#status = { ...this.#status, successful: false, fault };
      this.#last = { digest, files, refusedAtMs: clock.now() };
      this.#logRefusal(faults.filter((fault) => !this.#told.has(fault)));
      return { kind: "refused", faults };
    }
    this.#told.clear();
    this.#last = { digest, files: parts, refusedAtMs: undefined };
    this.#status = { successful: true, lastSuccessAtMs: clock.wallNow() };
    const changes = changesOf(before, this.#config);
    log.info({ upstreams: this.#config.upstreams.length, changes }, "config reloaded");
    return { kind: "reloaded" };
  }

  #logRefusal(faults: readonly string[]): void {
    if (faults.length === 0) return;
    for (const fault of faults) this.#told.add(fault);
    this.#parts.log.error({ faults }, "config reload refused, keeping the old config");
  }

  async #swap(loaded: Loading): Promise<readonly string[]> {
    const { withdraw, log } = this.#parts;
    if (loaded.kind === "refused") return loaded.faults.map(formatFault);
    const { config, proof } = loaded;
    withdraw(loaded.secretVariables);
    const fixed = whatCannotChange(this.#config, config);
    if (fixed.length > 0) return fixed;
    const faults = await this.#change(config, proof);
    if (faults.length > 0) return faults;
    this.#shown = loaded.shown;
    log.level = config.log?.level ?? "info";
    for (const warning of loaded.warnings) log.warn({}, formatFault(warning));
    this.#parts.onChanged(this.#config);
    return [];
  }

  async #change(config: Config, proof: Proof): Promise<readonly string[]> {
    const { life } = this.#parts;
    const { budgets, polling } = life() ?? {};
    // Whoever stands by may lead at any moment.
    if (polling === undefined) {
      const faults = await faultsOfKeys(config.upstreams, this.#parts);
      if (faults.length > 0) return faults;
    }
    const change = async (): Promise<readonly string[]> => {
      const opened = await polling?.open(config);
      if (opened?.kind === "refused") return opened.faults;
      // Nothing below waits: a scrape sees the old config or the new one, never both.
      budgets?.ledger.change(config);
      if (opened !== undefined) polling?.apply(config, opened.what);
      this.#config = config;
      this.#proof = proof;
      return [];
    };
    return polling === undefined ? change() : polling.exclusively(change);
  }

  /** No reload comes between: what is built for this config runs with it. */
  exclusively<Result>(act: (config: Config) => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(() => act(this.#config));
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

const PARTS: Readonly<Record<string, (config: Config) => Named>> = {
  upstreams: ({ upstreams }) => new Map(upstreams.map((each) => [each.name, textOf(each)])),
  budgets: ({ budgets }) => new Map(budgets.map((each) => [each.name, JSON.stringify(each)])),
  receivers: ({ notify = [] }) => new Map(notify.map((each) => [each.name, JSON.stringify(each)])),
  settings: ({ web, log, fleet, vantage, denyAddresses }) =>
    namedTexts({ web, log, fleet, vantage, deny_addresses: denyAddresses }),
};

function changesOf(before: Config, after: Config): readonly string[] {
  return Object.entries(PARTS).flatMap(([parts, partsOf]) =>
    changesBetween(parts, partsOf(before), partsOf(after)),
  );
}

/** The keys that stay as they are until a restart, and what of a config they are. */
const FIXED: readonly (readonly [key: string, valueIn: (config: Config) => unknown])[] = [
  ["web.listen", ({ web }) => web.listen],
  ["web.probe_listen", ({ web }) => web.probeListen],
  ["web.config_file", ({ web }) => web.configFile],
  ["fleet", ({ fleet }) => fleet],
  ["vantage.name", ({ vantage }) => vantage?.name],
  ["state.path", ({ state }) => state?.path],
];

function whatCannotChange(running: Config, wanted: Config): readonly string[] {
  return FIXED.filter(
    ([, valueIn]) => JSON.stringify(valueIn(running)) !== JSON.stringify(valueIn(wanted)),
  ).map(([key]) => `cannot reload: ${key} must stay as it is until a restart`);
}
