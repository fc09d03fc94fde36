import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { ask } from "../../test/support/http-ask.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openConfigFolder, type RawConfig, rawUpstream } from "../../test/support/config-folder.ts";
import { imageCommand } from "../image-command.ts";
import type { Attack, Target } from "./attack.ts";
import { MemoryGroup, peakBytes } from "./memory.ts";
import { Polled } from "./polled.ts";
import { Prober, type ProbesSeen } from "./prober.ts";

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
  /** How the process ended, if it did. */
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
    const { config, user } = waiting[0] ?? {};
    await using besieged = await Besieged.start(options, polled, config, user);
    do {
      const attack = waiting.shift();
      if (attack === undefined) break;
      const endured = await besieged.endure(attack);
      options.onEndured(endured);
      all.push(endured);
    } while (besieged.ended === undefined && waiting[0]?.config === config);
  }
  return all;
}

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
    state: { path: "pacewatch.db" },
    budgets: Object.fromEntries(names.map((name) => [name, { rate: { requests: 1_000, per: "1m" } }])),
    upstreams: names.map((name) => rawUpstream(name, url, { every, budget: name })),
    ...changes,
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

  static async start(
    options: StageOptions,
    polled: Polled,
    configured: Attack["config"],
    user: Attack["user"],
  ): Promise<Besieged> {
    const { upstreams, limitBytes } = options;
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await openConfigFolder(""));
    await folder.write(configOf(upstreams, polled.url, (await configured?.(folder.folder)) ?? {}));
    const group = await MemoryGroup.create(`pacewatch-attack-${process.pid}`, limitBytes);
    if (group !== undefined) stack.use(group);
    const { program, args, env } = await imageCommand();
    const command = [program, ...args, "run", "--config", folder.path, "--listen", "127.0.0.1:0"];
    const joining = 'echo $$ > "$0" && exec "$@"';
    const child = spawn("/bin/sh", ["-c", joining, group?.members ?? "/dev/null", ...command], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
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
      (polls) => polls >= upstreams,
    );
    // As in every life: the first scrape starts a thread. On a machine that is busy with other things too, the start is.
    for (const path of ["/metrics", "/"])
      await eventually(`${path} is answered`, () => isAnswered(url + path, user));
    const target = { url, probesUrl, upstreams: namesOf(upstreams), folder: folder.folder };
    const [prober, beside] = [probesUrl, url].map((at) => stack.use(new Prober(`${at}/-/healthy`)));
    if (prober === undefined || beside === undefined) throw new Error("cannot probe");
    return new Besieged(options, polled, stack.move(), child, group, target, [prober, beside]);
  }

  private constructor(
    options: StageOptions,
    polled: Polled,
    stack: AsyncDisposableStack,
    child: ChildProcess,
    group: MemoryGroup | undefined,
    target: Target,
    probers: readonly [Prober, Prober],
  ) {
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
    return {
      attack: attack.name,
      upstreams,
      limitBytes,
      isLimited: this.#group !== undefined,
      probes,
      probesBeside,
      longestGapMs: polls.longestGapMs,
      peakBytes: ended === undefined ? await peakBytes(pid) : Number.NaN,
      ended: ended === undefined ? undefined : kills > 0 ? "out of memory" : ended,
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
