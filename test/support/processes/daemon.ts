import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { imageCommand } from "../../../tools/image-command.ts";
import { endWithUs } from "./ends-with-us.ts";
import { type Families, parseExposition } from "../metrics/exposition-parser.ts";
import { decodeFamilies, numbersIn } from "../metrics/protobuf-decoder.ts";
import { openAccounts } from "../metrics/slot-accounts.ts";
import { type Answer, ask, askBytes } from "../http-ask.ts";

/** The real program, as a process of its own. */

const PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
const FEW_UPSTREAMS = 50;

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

type Start = { readonly args: readonly string[]; readonly env: Environment };

/**
 * The source as it is; the bundle, which vitest.config.ts or else `npm run build` made of it; or that bundle as the image
 * starts it.
 */
const FORMS: Readonly<Record<string, () => Start | Promise<Start>>> = {
  source: () => ({ args: [`${ROOT}bin/pacewatch.mjs`], env: {} }),
  bundle: () => ({
    args: [`${process.env["PACEWATCH_BUNDLE"] ?? `${ROOT}dist`}/bin/pacewatch.mjs`],
    env: {},
  }),
  image: async () => {
    const { args, env } = await imageCommand();
    // The only one that it may use.
    mkdirSync(IMAGE_CACHE, { recursive: true });
    return { args, env: { ...env, NODE_COMPILE_CACHE: IMAGE_CACHE } };
  },
};

const IMAGE_CACHE = `${ROOT}dist/node_modules/.cache/pacewatch/`;

const START = await startOf(process.env["PACEWATCH_UNDER_TEST"] ?? "source");

async function startOf(form: string): Promise<Start> {
  const start = await FORMS[form]?.();
  if (start !== undefined) return start;
  throw new Error(
    `cannot test: PACEWATCH_UNDER_TEST must be one of ${Object.keys(FORMS).join(", ")}, received "${form}"`,
  );
}

/** Halves what a start costs; these tests start the program a hundred times. */
const COMPILE_CACHE = fileURLToPath(new URL("../../../node_modules/.cache/pacewatch", import.meta.url));

export type Environment = Readonly<Record<string, string>>;
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };
export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** With none of this machine's variables: a proxy of its own would come between the program and its upstreams. */
export function commandLine(parameters: readonly string[], environment: Environment = {}): Start {
  return {
    args: [...START.args, ...parameters],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...START.env, ...environment },
  };
}

export class Daemon implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<Exit>;
  readonly #watchers = new Set<() => void>();
  #exit: Exit | undefined;
  #stdout = "";
  #stderr = "";
  readonly #logs: LogLine[] = [];
  /** How much of what it wrote was read into log lines. */
  #read = 0;

  constructor(parameters: readonly string[], environment: Environment) {
    const { args, env } = commandLine(parameters, environment);
    this.#child = spawn(process.execPath, args, {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    endWithUs(this.#child);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      this.#changed();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
      this.#changed();
    });
    this.#exited = this.#awaitExit();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get logs(): readonly LogLine[] {
    const end = this.#stdout.lastIndexOf("\n") + 1;
    for (const line of this.#stdout.slice(this.#read, end).split("\n")) {
      if (line.startsWith("{") && line.endsWith("}")) this.#logs.push(JSON.parse(line) as LogLine);
    }
    this.#read = end;
    return this.#logs;
  }

  /** Where it listens, by its own word. */
  get url(): string {
    const url = this.logs.find(({ msg }) => msg === "listening")?.["url"];
    if (typeof url === "string") return url;
    throw new Error(`cannot tell the url: it has not said that it listens. ${this.#story()}`);
  }

  /** Fails where the process ends without it ever having been true. */
  async until(holds: (daemon: Daemon) => boolean): Promise<void> {
    while (!holds(this)) {
      if (this.#exit !== undefined) throw new Error(`it ended too early. ${this.#story()}`);
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
    }
  }

  async logged(msg: string): Promise<void> {
    await this.until(({ logs }) => logs.some((line) => line.msg === msg));
  }

  async get(path: string): Promise<Answer> {
    return unlessItStoodStill(() => ask(this.url + path));
  }

  async post(path: string): Promise<Answer> {
    return ask(this.url + path, "POST");
  }

  /** In text. What it says in protobuf at about that time is read as well, by a decoder of others. */
  async metrics(): Promise<Families> {
    const text = parseExposition((await this.get("/metrics")).body);
    const inProtobuf = numbersIn(
      decodeFamilies(await unlessItStoodStill(() => askBytes(`${this.url}/metrics`, PROTOBUF))),
    );
    // Each account is searched for among all series.
    const areFew = (inProtobuf.get("pacewatch_slots_total")?.samples.length ?? 0) <= FEW_UPSTREAMS;
    const open = areFew ? openAccounts(inProtobuf) : [];
    if (open.length > 0) throw new Error(`accounts do not close in protobuf: ${JSON.stringify(open)}`);
    return text;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  /** When it has ended, and all that it wrote was read. */
  get exited(): Promise<Exit> {
    return this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#exit === undefined) this.#child.kill("SIGKILL");
    await this.#exited;
  }

  async #awaitExit(): Promise<Exit> {
    const [code, signal] = (await once(this.#child, "close")) as [number | null, NodeJS.Signals | null];
    this.#exit = { code, signal };
    this.#changed();
    return this.#exit;
  }

  #changed(): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const resolve of watchers) resolve();
  }

  #story(): string {
    return `Its errors: ${JSON.stringify(this.#stderr)}. Its output: ${JSON.stringify(this.#stdout.slice(-2_000))}`;
  }
}

/**
 * A busy machine may let the daemon stand still for longer than a client may take to send its request. It then takes
 * whoever had connected for a client that says nothing, and cuts the connection off: whoever wants an answer asks again.
 */
async function unlessItStoodStill<Got>(get: () => Promise<Got>): Promise<Got> {
  try {
    return await get();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ECONNRESET") return get();
    throw error;
  }
}

export type DaemonOptions = {
  readonly configPath: string;
  readonly listen?: string;
  readonly environment?: Environment;
};

/** Resolves once it listens; any free port is its own. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { configPath, listen, environment } = options;
  const parameters = ["run", "--config", configPath, "--listen", listen ?? "127.0.0.1:0"];
  const daemon = new Daemon(parameters, environment ?? {});
  try {
    await daemon.logged("listening");
    return daemon;
  } catch (error) {
    await daemon[Symbol.asyncDispose]();
    throw error;
  }
}

/** Any command, not waited for. */
export function launch(parameters: readonly string[], environment: Environment = {}): Daemon {
  return new Daemon(parameters, environment);
}

/** By the API. */
export async function nextSlotAtMs(daemon: Daemon, upstream: string): Promise<number> {
  const { body } = await daemon.get(`/api/v1/upstreams/${upstream}`);
  return JSON.parse(body).upstream.nextSlotAtMs;
}
