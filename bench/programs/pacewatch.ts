import { once } from "node:events";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { Program } from "../../tools/stack/program.ts";
import { endWithUs } from "./end-with-us.ts";
import { ask } from "../../test/support/http-ask.ts";
import { imageCommand, type Form } from "../../tools/image-command.ts";
import { CA_FILE, keysOf, pacewatchConfig, type Fleet } from "./pacewatch-config.ts";

export type Scrape = { readonly ms: number; readonly text: string };

/** What a scraper likes best. */
const FORMATS = {
  "text 0.0.4": "text/plain;version=0.0.4",
  OpenMetrics: "application/openmetrics-text;version=1.0.0",
  protobuf: "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
} as const;
export type FormatName = keyof typeof FORMATS;
type Environment = Readonly<Record<string, string>>;
type How = {
  readonly form?: Form;
  /** Where another commit's `Dockerfile` and `dist` are. */
  readonly root?: string;
  /** For Node.js, before the image's own. */
  readonly nodeArgs?: readonly string[];
};

/** Pacewatch as the image runs it, on a free port of its own choice. */
export class Pacewatch implements AsyncDisposable {
  readonly #program: Program;
  readonly #folder: string | undefined;
  readonly #listening = Promise.withResolvers<string>();
  #output = "";
  #url = "";

  private constructor(program: (onOutput: (text: string) => void) => Program, folder?: string) {
    this.#program = program((text) => this.#hear(text));
    this.#folder = folder;
  }

  static async start(fleet: Fleet, how: How = {}): Promise<Pacewatch> {
    const folder = await mkdtemp(join(tmpdir(), "pacewatch-bench-"));
    const config = join(folder, "pacewatch.yaml");
    await writeFile(config, pacewatchConfig(fleet));
    if (fleet.caFile !== undefined) await copyFile(fleet.caFile, join(folder, CA_FILE));
    return Pacewatch.startWith(config, keysOf(fleet.upstreams), { ...how, folder });
  }

  /** With a config that is there already. A folder is removed at the end. */
  static async startWith(
    config: string,
    environment: Environment,
    { folder, form, root, nodeArgs = [] }: How & { readonly folder?: string } = {},
  ): Promise<Pacewatch> {
    const command = await imageCommand(form, root);
    // None of this machine's variables: only what the image sets, and the keys.
    const none = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
    const options = {
      args: [...nodeArgs, ...command.args, "run", "--config", config, "--listen", "127.0.0.1:0"],
      env: { ...none, ...command.env, ...environment },
    };
    const program = (onOutput: (text: string) => void): Program =>
      endWithUs(new Program(command.program, { ...options, onOutput }));
    const pacewatch = new Pacewatch(program, folder);
    try {
      await pacewatch.#listens();
    } catch (error) {
      await pacewatch[Symbol.asyncDispose]();
      throw error;
    }
    return pacewatch;
  }

  get pid(): number {
    return this.#program.pid;
  }

  get url(): string {
    return this.#url;
  }

  /** All that it has said so far. */
  get output(): string {
    return this.#program.output;
  }

  async scrape(): Promise<Scrape> {
    const startedMs = performance.now();
    const { body: text } = await ask(`${this.#url}/metrics`);
    return { ms: performance.now() - startedMs, text };
  }

  /** Compressed, and not looked at. Tells how many bytes came. */
  async scrapeAsPrometheus(format: FormatName = "text 0.0.4"): Promise<number> {
    const headers = { Accept: FORMATS[format], "Accept-Encoding": "gzip" };
    const [answer]: IncomingMessage[] = await once(
      get(`${this.#url}/metrics`, { agent: false, headers }),
      "response",
    );
    if (answer?.headers["content-encoding"] !== "gzip") throw new Error("cannot scrape: it must be gzip");
    await finished(answer.resume());
    return Number(answer.headers["content-length"]);
  }

  /** Of a format, as it is. */
  async scrapeBytes(format: FormatName): Promise<number> {
    const answer = await fetch(`${this.#url}/metrics`, {
      headers: { Accept: FORMATS[format], "Accept-Encoding": "identity" },
    });
    return (await answer.arrayBuffer()).byteLength;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Polls that are in flight matter to nobody here.
    this.#program.signal("SIGKILL");
    await this.#program[Symbol.asyncDispose]();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  async #listens(): Promise<void> {
    const failed = this.#program.ended.then(() => {
      throw new Error(`cannot start Pacewatch. It said: ${this.#program.output.slice(0, 2_000)}`);
    });
    this.#url = await Promise.race([this.#listening.promise, failed]);
    failed.catch(() => undefined);
  }

  #hear(text: string): void {
    if (this.#url !== "") return;
    this.#output += text;
    const url = /"url":"([^"]+)".*"msg":"listening"/.exec(this.#output)?.[1];
    if (url !== undefined) this.#listening.resolve(url);
  }
}
