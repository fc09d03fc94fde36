import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { ask } from "../../test/support/http-ask.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openConfigFolder, type RawConfig, rawUpstream } from "../../test/support/config-folder.ts";
import { writeStateFile } from "../../test/support/past-hours.ts";
import { imageCommand } from "../image-command.ts";
import { HOSTILITIES, KEY } from "./answers.ts";
import type { Attack, Target } from "./attack.ts";
import { MemoryGroup, peakBytes } from "./memory.ts";
import { Polled } from "./polled.ts";
import { Prober, type ProbesSeen } from "./prober.ts";

const HOSTILE = fileURLToPath(new URL("hostile-main.ts", import.meta.url));

export type Endured = {
  readonly attack: string;
  readonly upstreams: number;
  readonly limitBytes: number;
  readonly isLimited: boolean;
  /** At web.probe_listen. */
  readonly probes: ProbesSeen;
  /** At web.listen, where the attack goes. */
  readonly probesBeside: ProbesSeen;
  readonly longestGapMs: number;
  readonly peakBytes: number;
  /** How the process ended, if it did; or what it did that it must not. */
  readonly ended: string | undefined;
};

export type StageOptions = {
  readonly attacks: readonly Attack[];
  readonly upstreams: number;
  readonly limitBytes: number;
  readonly attackMs: number;
  readonly onEndured: (endured: Endured) => void;
};

/** The daemon as the image starts it, each attack after the other. It is started again where it has ended. */
export async function stage(options: StageOptions): Promise<readonly Endured[]> {
  const all: Endured[] = [];
  await using polled = await Polled.start();
  const waiting = [...options.attacks];
  while (waiting.length > 0) {
    const { config } = waiting[0] ?? {};
    const isAlike = (next: Attack | undefined): boolean =>
      next?.hostility === undefined && next?.config === config;
    await using besieged = await Besieged.start(options, polled, waiting[0] ?? {});
    do {
      const attack = waiting.shift();
      if (attack === undefined) break;
      const endured = await besieged.endure(attack);
      options.onEndured(endured);
      all.push(endured);
    } while (besieged.ended === undefined && isAlike(waiting[0]));
  }
  return all;
}

const STATE_FILE = "pacewatch.db";
/** After so long, a daemon remembers the most. */
const DAYS_REMEMBERED = 31;

/** So that polls come by the dozen each second, whatever their number. */
function everyFor(upstreams: number): string {
  if (upstreams <= 20) return "1s";
  if (upstreams <= 400) return "5s";
  return upstreams <= 2_000 ? "15s" : "60s";
}

function configOf(upstreams: number, url: string, changes: Partial<RawConfig>): RawConfig {
  const names = namesOf(upstreams);
  const every = everyFor(upstreams);
  return {
    web: { probe_listen: "127.0.0.1:0" },
    // As the manifests ship it: its thread takes memory too.
    state: { path: STATE_FILE },
    budgets: Object.fromEntries(names.map((name) => [name, { rate: { requests: 1_000, per: "1m" } }])),
    upstreams: names.map((name) => rawUpstream(name, url, { every, budget: name })),
    ...changes,
  };
}

/** The first upstream is honest, and is asked each second: the others must not delay it. */
function hostileConfigOf(
  upstreams: number,
  url: string,
  hostileUrl: string,
  name: string,
): Partial<RawConfig> {
  const every = upstreams <= 400 ? "2s" : "5s";
  const [honest = "", ...hostile] = namesOf(upstreams);
  return {
    upstreams: [
      rawUpstream(honest, url, { budget: honest }),
      ...hostile.map((each) =>
        rawUpstream(each, hostileUrl, {
          every,
          timeout: every,
          budget: each,
          ...HOSTILITIES[name]?.config?.(hostileUrl, each),
        }),
      ),
    ],
  };
}

function namesOf(upstreams: number): readonly string[] {
  return Array.from({ length: upstreams }, (_, index) => `upstream-${String(index).padStart(4, "0")}`);
}

class Besieged implements AsyncDisposable {
  readonly #options: StageOptions;
  readonly #polled: Polled;
  readonly #stack: AsyncDisposableStack;
  readonly #child: ChildProcess;
  readonly #group: MemoryGroup | undefined;
  readonly #target: Target;
  readonly #probers: readonly [Prober, Prober];
  readonly #exited = new AbortController();
  readonly #again: () => Promise<string | undefined>;

  static async start(
    options: StageOptions,
    polled: Polled,
    { config: configured, user, hostility }: Pick<Attack, "config" | "user" | "hostility">,
  ): Promise<Besieged> {
    const { upstreams, limitBytes } = options;
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await openConfigFolder(""));
    const hostile = hostility === undefined ? undefined : stack.use(await Polled.start(HOSTILE, [hostility]));
    if (hostile !== undefined) await writeFile(join(folder.folder, "key.txt"), KEY);
    const changes =
      hostile === undefined
        ? ((await configured?.(folder.folder)) ?? {})
        : hostileConfigOf(upstreams, polled.url, hostile.url, hostility ?? "");
    await folder.write(configOf(upstreams, polled.url, changes));
    writeStateFile(join(folder.folder, STATE_FILE), namesOf(upstreams), DAYS_REMEMBERED);
    const group = await MemoryGroup.create(`pacewatch-attack-${process.pid}`, limitBytes);
    if (group !== undefined) stack.use(group);
    const { program, args, env } = await imageCommand();
    const command = [program, ...args, "run", "--config", folder.path, "--listen", "127.0.0.1:0"];
    const joining = 'echo $$ > "$0" && exec "$@"';
    const spawned = (): ChildProcess & { readonly stdout: Readable } =>
      spawn("/bin/sh", ["-c", joining, group?.members ?? "/dev/null", ...command], {
        env,
        stdio: ["ignore", "pipe", "inherit"],
      });
    const child = spawned();
    const ended = once(child, "close");
    const endToo = (): void => void child.kill("SIGKILL");
    process.once("exit", endToo);
    stack.defer(async () => {
      process.off("exit", endToo);
      child.kill("SIGKILL");
      await ended;
    });
    const { requests } = await polled.tell();
    const { url, probesUrl } = await listeningAt(child);
    await eventually(
      "each upstream is polled",
      async () => (await polled.tell()).requests - requests,
      (polls) => polls >= (hostile === undefined ? upstreams : 1),
    );
    // As in every life: the first scrape starts a thread. On a machine that is busy with other things too, the start is.
    for (const path of ["/metrics", "/"])
      await eventually(`${path} is answered`, () => isAnswered(url + path, user));
    const target = { url, probesUrl, upstreams: namesOf(upstreams), folder: folder.folder };
    const [prober, beside] = [probesUrl, url].map((at) => stack.use(new Prober(`${at}/-/healthy`)));
    if (prober === undefined || beside === undefined) throw new Error("cannot probe");
    const again = async (): Promise<string | undefined> => {
      if (hostile === undefined) return undefined;
      child.kill("SIGKILL");
      await ended;
      for (const file of await readdir(folder.folder)) {
        if (file.startsWith(STATE_FILE) && (await readFile(join(folder.folder, file))).includes(KEY))
          return "the key is in the state file";
      }
      const next = spawned();
      const over = once(next, "close");
      const isUp = await listeningAt(next).then(
        () => true,
        () => false,
      );
      next.kill("SIGKILL");
      await over;
      return isUp ? undefined : "it does not start again";
    };
    const probers = [prober, beside] as const;
    return new Besieged(options, polled, stack.move(), child, group, target, probers, again);
  }

  private constructor(
    options: StageOptions,
    polled: Polled,
    stack: AsyncDisposableStack,
    child: ChildProcess,
    group: MemoryGroup | undefined,
    target: Target,
    probers: readonly [Prober, Prober],
    again: () => Promise<string | undefined>,
  ) {
    this.#again = again;
    this.#options = options;
    this.#polled = polled;
    this.#stack = stack;
    this.#child = child;
    this.#group = group;
    this.#target = target;
    this.#probers = probers;
    child.once("exit", () => this.#exited.abort());
  }

  get ended(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) return undefined;
    return signalCode ?? `exit code ${exitCode}`;
  }

  async endure(attack: Attack): Promise<Endured> {
    const { upstreams, limitBytes, attackMs } = this.#options;
    const pid = this.#child.pid ?? 0;
    const [own, beside] = this.#probers;
    await Promise.all([own.tell(), beside.tell(), this.#polled.tell(), peakBytes(pid)]);
    await attack.run(this.#target, AbortSignal.any([this.#exited.signal, AbortSignal.timeout(attackMs)]));
    const [probes, probesBeside, polls] = await Promise.all([own.tell(), beside.tell(), this.#polled.tell()]);
    const ended = this.ended;
    const kills = (await this.#group?.kills()) ?? 0;
    const mostBytes = ended === undefined ? await peakBytes(pid) : Number.NaN;
    const fault = await this.#again();
    return {
      attack: attack.name,
      upstreams,
      limitBytes,
      isLimited: this.#group !== undefined,
      probes,
      probesBeside,
      longestGapMs: polls.longestGapMs,
      peakBytes: mostBytes,
      ended:
        ended === undefined ? fault : [kills > 0 ? "out of memory" : ended, fault].filter(Boolean).join(", "),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

async function isAnswered(url: string, user: string | undefined): Promise<boolean> {
  return (await ask(url, "GET", user).catch(() => undefined))?.status === 200;
}

async function listeningAt(
  child: ChildProcess,
): Promise<{ readonly url: string; readonly probesUrl: string }> {
  if (child.stdout === null) throw new Error("cannot attack: its output is closed");
  const listening = Promise.withResolvers<{ readonly url: string; readonly probesUrl: string }>();
  createInterface(child.stdout)
    .on("line", (line) => {
      if (line.includes('"msg":"listening"')) listening.resolve(JSON.parse(line));
    })
    .once("close", () => listening.reject(new Error("cannot attack: it ended before it listened")));
  return listening.promise;
}
