import { url as debuggerUrl } from "node:inspector";
import { KnownKeys } from "../transport/secrets/known-keys.ts";
import { systemClock } from "../platform/clock.ts";
import { startApp } from "../app/app.ts";
import type { App, AppOptions } from "../app/build.ts";
import { proxyPasswords } from "../config/read/secrets.ts";
import { stackOf } from "../kernel/text/escape.ts";

type Ending = "SIGTERM" | "SIGINT";

/** The daemon needs these of its process. */
export type ProcessEvents = {
  on(signal: Ending | "SIGHUP", listener: () => void): unknown;
  on(bug: "uncaughtException", listener: (error: unknown) => void): unknown;
  off(signal: Ending | "SIGHUP", listener: () => void): unknown;
  off(bug: "uncaughtException", listener: (error: unknown) => void): unknown;
  exit(code: number): never;
};

export type RunOptions = Omit<AppOptions, "keys"> & {
  readonly events: ProcessEvents;
  readonly err: (text: string) => void;
  /** Called once it runs. */
  readonly onStarted?: (app: App) => void;
};

const NODE_DEBUG_IS_SET = "NODE_DEBUG is set: Node.js itself may print keys and passwords to standard error";

const DEBUGGER_IS_OPEN =
  "a debugger is open (--inspect, perhaps in NODE_OPTIONS): whoever reaches its address can read every key and run anything";

/** EX_CONFIG of sysexits: a supervisor that starts it again would be told the same. */
const CONFIG_REFUSED = 78;

/** As a shell reports a process that a signal ended. */
const EXIT_CODES: Readonly<Record<Ending, number>> = { SIGTERM: 143, SIGINT: 130 };

/** Ctrl-C comes from the terminal and once more from npm; a supervisor may signal the process and its group. */
const SAME_REQUEST_MS = 500;

/** Runs the daemon until a signal asks it to end. A later signal ends it at once. */
export async function run(options: RunOptions): Promise<number> {
  const { log, events } = options;
  const keys = new KnownKeys(proxyPasswords(options.environment).values());
  let app: App | undefined;
  let isReloadAsked = false;
  const onHangUp = (): void => {
    isReloadAsked = true;
    void app?.reload();
  };
  events.on("SIGHUP", onHangUp);
  // A bug in one place must not end the watching of everything else.
  const onBug = (error: unknown): void =>
    log.error({ error: keys.hide(stackOf(error)) }, "a bug in pacewatch: it keeps running");
  events.on("uncaughtException", onBug);
  if (options.environment["NODE_DEBUG"]) log.warn({}, NODE_DEBUG_IS_SET);
  const address = debuggerUrl();
  // Its path is what lets a client in.
  if (address !== undefined) log.warn({ address: new URL(address).host }, DEBUGGER_IS_OPEN);
  const ending = awaitEnding(events);
  try {
    const start = await startApp({ ...options, keys });
    if (start.kind === "refused") {
      for (const fault of start.faults) options.err(`${fault}\n`);
      return start.isForGood === true ? CONFIG_REFUSED : 1;
    }
    app = start.what;
    // What it has read may have changed since.
    if (isReloadAsked) void app.reload();
    options.onStarted?.(app);
    const signal = await ending.asked;
    log.info({ signal }, "stopping: waiting for polls in flight");
    await app.stop();
    log.info({}, "stopped");
    return 0;
  } finally {
    ending.ignore();
    events.off("SIGHUP", onHangUp);
    events.off("uncaughtException", onBug);
  }
}

function awaitEnding(events: ProcessEvents): { readonly asked: Promise<Ending>; ignore(): void } {
  const { promise: asked, resolve } = Promise.withResolvers<Ending>();
  let askedAtMs: number | undefined;
  const listeners = (["SIGTERM", "SIGINT"] as const).map((signal) => {
    const listener = (): void => {
      const nowMs = systemClock.now();
      askedAtMs ??= nowMs;
      if (nowMs - askedAtMs >= SAME_REQUEST_MS) events.exit(EXIT_CODES[signal]);
      resolve(signal);
    };
    events.on(signal, listener);
    return { signal, listener };
  });
  const ignore = (): void => {
    for (const { signal, listener } of listeners) events.off(signal, listener);
  };
  return { asked, ignore };
}
