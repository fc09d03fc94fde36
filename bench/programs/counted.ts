import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Form } from "../../tools/image-command.ts";
import { certificates } from "../../test/support/certificates.ts";
import type { Inside } from "./counting.ts";
import type { Asks, Fleet } from "./pacewatch-config.ts";
import { Pacewatch } from "./pacewatch.ts";

/** All of one poll. */
export type Counted = {
  readonly heapBytes: number;
  readonly bufferBytes: number;
  readonly turns: number;
  /** By the names that Node.js has for them; empty where functions were looked for. */
  readonly made: Readonly<Record<string, number>>;
  readonly bytesByFunction: Readonly<Record<string, number>>;
  readonly systemCalls: Readonly<Record<string, number>>;
};

export type What = {
  readonly over: "http" | "https";
  readonly connection: Fleet["connection"];
  /** Where strace is. Without it no system calls are counted. */
  readonly strace: string | undefined;
  readonly root?: string;
  readonly form?: Form;
  readonly isByFunction?: boolean;
  readonly asks?: Asks;
  /** Of its answers, beside the usual. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the usual answer. */
  readonly body?: string;
};

/** Each is polled once a second. */
const UPSTREAMS = 60;
const WARM_UP_POLLS = 400;
const POLLS = 600;
/** Nothing is collected in all that time: so what is in the heap then and was not before is what was allocated. */
const HEAP_MB = 256;

/** What the daemon makes of each poll, as the image runs it: counts, and no times, so any machine says the same. */
export async function countedOf(what: What): Promise<Counted> {
  await using upstream = await startUpstream(what);
  const { ca } = certificates();
  const preload = new URL("counting.ts", import.meta.url);
  if (what.isByFunction === true) preload.search = "by-function";
  await using pacewatch = await Pacewatch.start(
    {
      upstreams: UPSTREAMS,
      schedule: { every: "1s" },
      baseUrl: () => upstream.url,
      connection: what.connection,
      caFile: ca.certFile,
      ...(what.asks === undefined ? {} : { asks: what.asks }),
    },
    {
      ...(what.root === undefined ? {} : { root: what.root }),
      ...(what.form === undefined ? {} : { form: what.form }),
      nodeArgs: [
        `--min-semi-space-size=${HEAP_MB}`,
        `--max-semi-space-size=${HEAP_MB}`,
        "--allow-inspector",
        `--import=${preload.href}`,
      ],
    },
  );
  const until = async (polls: number): Promise<void> => {
    const end = upstream.polls() + polls;
    while (upstream.polls() < end) await sleep(20);
  };
  await until(WARM_UP_POLLS);
  const heap = await uncollected(pacewatch, upstream.polls, until);
  process.kill(pacewatch.pid, "SIGWINCH");
  const before = upstream.polls();
  await until(POLLS);
  const { made, bytesByFunction } = await insideOf(pacewatch);
  const many = upstream.polls() - before;
  return {
    ...heap,
    made: each(made, many),
    bytesByFunction: each(bytesByFunction, many),
    systemCalls:
      what.strace === undefined
        ? {}
        : await systemCallsOf(what.strace, pacewatch, upstream.polls, () => until(POLLS)),
  };
}

/** A window in which nothing is collected: V8 collects as it likes, but seldom so large a heap. */
async function uncollected(
  pacewatch: Pacewatch,
  polls: () => number,
  until: (polls: number) => Promise<void>,
): Promise<Pick<Counted, "heapBytes" | "bufferBytes" | "turns">> {
  for (let window = 0; window < 4; window += 1) {
    const [first, before] = [await insideOf(pacewatch), polls()];
    await until(POLLS);
    const [second, many] = [await insideOf(pacewatch), polls() - before];
    if (second.collections > first.collections) continue;
    return {
      heapBytes: (second.heapBytes - first.heapBytes) / many,
      bufferBytes: (second.bufferBytes - first.bufferBytes) / many,
      turns: (second.turns - first.turns) / many,
    };
  }
  throw new Error("cannot count what is allocated: each window had a collection in it");
}

function each(totals: Readonly<Record<string, number>>, polls: number): Record<string, number> {
  return Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, total / polls]));
}

type Upstream = AsyncDisposable & { readonly url: string; readonly polls: () => number };

const RESOURCES = JSON.stringify({ resources: [{ id: "a", status: "available" }], next: null });

/** It answers at once, and is in this process: what it does is not what is counted. */
async function startUpstream({ over, headers, body = RESOURCES }: What): Promise<Upstream> {
  let polls = 0;
  const answer: RequestListener = (_request, response) => {
    polls += 1;
    const usual = { "content-type": "application/json", "content-length": body.length };
    response.writeHead(200, { ...usual, ...headers }).end(body);
  };
  const { cert, key } = certificates().server;
  const server: Server = over === "http" ? createServer(answer) : createTlsServer({ cert, key }, answer);
  server.keepAliveTimeout = 60_000;
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${over}://127.0.0.1:${port}`,
    polls: () => polls,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function insideOf(pacewatch: Pacewatch): Promise<Inside> {
  const told = (): readonly string[] => pacewatch.output.match(/^counting .*(?=\n)/gm) ?? [];
  const before = told().length;
  process.kill(pacewatch.pid, "SIGUSR2");
  for (;;) {
    await sleep(20);
    const line = told()[before];
    if (line !== undefined) return JSON.parse(line.slice("counting ".length)) as Inside;
  }
}

async function systemCallsOf(
  strace: string,
  pacewatch: Pacewatch,
  polls: () => number,
  wait: () => Promise<void>,
): Promise<Record<string, number>> {
  const tracer = spawn(strace, ["-c", "-f", "-p", String(pacewatch.pid)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  tracer.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = once(tracer, "close");
  try {
    while (!said.includes("attached")) {
      if (tracer.exitCode !== null) throw new Error(`cannot count system calls: strace said ${said}`);
      await sleep(20);
    }
    const before = polls();
    await wait();
    const many = polls() - before;
    tracer.kill("SIGINT");
    await ended;
    return each(callsIn(said), many);
  } finally {
    tracer.kill("SIGKILL");
  }
}

/** Of the table at the end: `% time, seconds, usecs/call, calls, errors, syscall`; errors may be empty. */
export function callsIn(table: string): Record<string, number> {
  const rows = table.matchAll(/^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$/gm);
  return Object.fromEntries(
    [...rows].flatMap(([, calls, name = ""]) => (name === "total" ? [] : [[name, Number(calls)]])),
  );
}
