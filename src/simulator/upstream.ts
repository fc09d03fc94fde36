import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { answerTo, carriesKey, type Key, latencyMs } from "./answer.ts";
import { deliver, isStillThere } from "./delivery.ts";
import { ALWAYS_HEALTHY, type Fault, faultAt, type FaultScript } from "./faults.ts";
import { limitHeaders, type LimitHeaders } from "./limit-headers.ts";
import { Listener } from "./listener.ts";
import { seededRandom, type Span, within } from "./randomness.ts";
import { type BusiestWindow, RequestLedger } from "./request-ledger.ts";
import { resourceList, type Resources } from "./resources.ts";
import type { Algorithm, Limit } from "./meters.ts";

export type SeenRequest = {
  /** Since the upstream's start. */
  readonly atMs: number;
  readonly method: string;
  /** Path and query, as they came. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly keyAccepted: boolean;
  readonly fault: Fault;
};

const AT_ONCE: Span = { minMs: 0, maxMs: 0 };

export async function startSimulatedUpstream(options: UpstreamOptions): Promise<SimulatedUpstream> {
  const upstream = new SimulatedUpstream(options);
  await upstream.listen();
  return upstream;
}

/** A real HTTP server that enforces its limits, breaks by its script, and keeps the accounts of who called. */
export class SimulatedUpstream implements AsyncDisposable {
  readonly name: string;
  readonly #options: UpstreamOptions;
  readonly #listener: Listener;
  readonly #ledger: RequestLedger;
  readonly #random: () => number;
  readonly #seen: SeenRequest[] = [];
  readonly #startedAtMs = performance.now();
  readonly #closing = new AbortController();
  #fault: Fault | undefined;

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.#options = options;
    this.#random = seededRandom(options.seed ?? 1);
    this.#ledger = new RequestLedger(
      options.limits ?? [],
      options.algorithm ?? "sliding_log",
      performance.now() - Date.now(),
    );
    this.#listener = new Listener((request, response) => void this.#answer(request, response));
  }

  /** The base: `http://127.0.0.1:PORT`. */
  get url(): string {
    return this.#listener.url;
  }

  /** Oldest first. */
  get seen(): readonly SeenRequest[] {
    return this.#seen;
  }

  /** Counted so far, whatever they asked for and were answered. */
  get requests(): number {
    return this.#ledger.requests;
  }

  /** Those of them that were beyond a limit. */
  get violations(): number {
    return this.#ledger.violations;
  }

  get openConnections(): number {
    return this.#listener.openConnections;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAtMs;
  }

  get fault(): Fault {
    return this.#fault ?? faultAt(this.#options.script ?? ALWAYS_HEALTHY, this.elapsedMs);
  }

  worstWindow(): readonly BusiestWindow[] {
    return this.#ledger.worstWindow();
  }

  /** Breaks it for every request from now on, or mends it; undefined gives it back to its script. */
  setFault(fault: Fault | undefined): void {
    this.#fault = fault;
  }

  async listen(): Promise<void> {
    await this.#listener.listen(this.#options.host ?? "127.0.0.1", this.#options.port ?? 0);
  }

  /** Ends every connection, answered or not. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#listener.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    request.resume();
    const seen = this.#remember(request);
    const queuedMs = within(this.#options.countingDelay ?? AT_ONCE, this.#random);
    const answerMs = latencyMs(seen.fault, this.#options.latency ?? AT_ONCE, this.#random);
    if (!(await isStillThere(queuedMs, this.#closing.signal))) return;
    const verdict = this.#ledger.count(performance.now());
    if (!(await isStillThere(answerMs, gone.signal))) return;
    const answer = answerTo({
      ...seen,
      path: seen.target.replace(/\?.*$/, ""),
      allowed: verdict.allowed,
      limitHeaders: limitHeaders(this.#options.limitHeaders ?? "ratelimit", verdict, Date.now()),
      resources: resourceList(this.#options.resources ?? []),
    });
    await deliver(response, answer, gone.signal);
  }

  #remember(request: IncomingMessage): SeenRequest {
    const target = request.url ?? "";
    const seen: SeenRequest = {
      atMs: this.elapsedMs,
      method: request.method ?? "",
      target,
      headers: request.headers,
      keyAccepted: carriesKey(this.#options.key, target, request.headers),
      fault: this.fault,
    };
    this.#seen.push(seen);
    if (this.#seen.length > (this.#options.keepSeen ?? Number.POSITIVE_INFINITY)) this.#seen.shift();
    return seen;
  }
}

export type UpstreamOptions = {
  readonly name: string;
  /** Without a key, everybody is welcome. */
  readonly key?: Key | undefined;
  readonly limits?: readonly Limit[];
  readonly algorithm?: Algorithm;
  readonly limitHeaders?: LimitHeaders;
  /** From the counting to the answer. */
  readonly latency?: Span;
  /** From the arrival to the counting, as behind a queue; even a caller that left is counted then. */
  readonly countingDelay?: Span;
  readonly script?: FaultScript;
  readonly seed?: number;
  readonly port?: number;
  readonly host?: string;
  readonly resources?: Resources;
  /** How many of the last requests are kept in `seen`; all of them by default. */
  readonly keepSeen?: number;
};
