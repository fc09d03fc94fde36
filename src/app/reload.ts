import type { AppPolling } from "./polling.ts";
import type { TransportParts } from "../transport/open.ts";
import { faultsOfKeys } from "../transport/secrets/keys.ts";
import type { Loading } from "../config/load.ts";
import { formatFault } from "../config/read/fault.ts";
import { FIXED, NAMED, SETTINGS } from "./features/changes.ts";
import type { Environment } from "../config/read/interpolate.ts";
import type { ReloadStatus } from "../features/status/status.ts";
import type { LastReload, WatchCause } from "../config/watch.ts";
import type { Config } from "../kernel/config/config.ts";
import type { Proof } from "../proof/proof.ts";
import type { LocalLedger } from "../kernel/budget/local-ledger.ts";
import { changesBetween, type Named, namedTexts, textOf } from "../platform/changes.ts";
import { sharedNext } from "../platform/shared-work.ts";
import type { ReloadResult } from "../http/routes/routes.ts";
import type { Logger } from "../features/log/logger.ts";

export type ReloadParts = TransportParts & {
  readonly configPath: string;
  /** Where polls do not run. */
  readonly load: (configPath: string, environment: Environment) => Promise<Loading>;
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
type Running = Pick<LoadedConfig, "config" | "shown" | "proof">;

/** Parse, prove, build, then swap in one step: on any fault the old config keeps running, untouched. */
export class AppReload implements AsyncDisposable {
  readonly #parts: ReloadParts;
  #running: Running;
  #status: ReloadStatus;
  #last: LastReload;
  /** While a refused config is tried again by itself, each of its faults is logged once. */
  readonly #told = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();
  /** One after the other: SIGHUP, a changed file, a POST. Whoever asks before its turn gets its answer. */
  readonly #next: () => Promise<ReloadResult> = sharedNext(() =>
    this.#reload().catch((bug: unknown) => {
      // What runs is not what was asked for.
      this.#status = { ...this.#status, successful: false, fault: undefined };
      throw bug;
    }),
  );

  constructor({ config, shown, proof, digest, parts: files }: LoadedConfig, parts: ReloadParts) {
    this.#running = { config, shown, proof };
    this.#last = { digest, files, refusedAtMs: undefined };
    this.#parts = parts;
    this.#status = { successful: true, lastSuccessAtMs: parts.clock.wallNow() };
  }

  get config(): Config {
    return this.#running.config;
  }

  /** The config that runs, as it is written. */
  get shown(): string {
    return this.#running.shown;
  }

  /** That of the config that runs. */
  get proof(): Proof {
    return this.#running.proof;
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
    return this.#next();
  }

  /** Waits for the one in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
  }

  /** Whoever begins to lead does not wait for files that are slow to read. */
  async #reload(): Promise<ReloadResult> {
    const { configPath, environment, load } = this.#parts;
    const loaded = await load(configPath, environment);
    return this.exclusively((before) => this.#take(loaded, before));
  }

  async #take(loaded: Loading, before: Config): Promise<ReloadResult> {
    const { log, clock, stopping } = this.#parts;
    if (stopping.aborted) return { kind: "refused", faults: ["cannot reload: pacewatch is shutting down"] };
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
    const changes = changesOf(before, this.config);
    log.info({ upstreams: this.config.upstreams.length, changes }, "config reloaded");
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
    const { config, shown, proof } = loaded;
    withdraw(loaded.secretVariables);
    const fixed = whatCannotChange(this.config, config);
    if (fixed.length > 0) return fixed;
    const faults = await this.#change({ config, shown, proof });
    if (faults.length > 0) return faults;
    log.level = config.log?.level ?? "info";
    for (const warning of loaded.warnings) log.warn({}, formatFault(warning));
    this.#parts.onChanged(config);
    return [];
  }

  async #change(wanted: Running): Promise<readonly string[]> {
    const { config } = wanted;
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
      this.#running = wanted;
      return [];
    };
    return polling === undefined ? change() : polling.exclusively(change);
  }

  /** No reload comes between: what is built for this config runs with it. */
  exclusively<Result>(act: (config: Config) => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(() => act(this.config));
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

function changesOf(before: Config, after: Config): readonly string[] {
  const named = NAMED.flatMap(([what, of]) => {
    const texts = (config: Config): Named => new Map(of(config).map((each) => [each.name, textOf(each)]));
    return changesBetween(what, texts(before), texts(after));
  });
  const settings = (config: Config): Named =>
    namedTexts(Object.fromEntries(SETTINGS.map(([key, of]) => [key, of(config)])));
  return [...named, ...changesBetween("settings", settings(before), settings(after))];
}

function whatCannotChange(running: Config, wanted: Config): readonly string[] {
  return FIXED.filter(
    ([, valueIn]) => JSON.stringify(valueIn(running)) !== JSON.stringify(valueIn(wanted)),
  ).map(([key]) => `cannot reload: ${key} must stay as it is until a restart`);
}
