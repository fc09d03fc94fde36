import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { performance } from "node:perf_hooks";
import { answerTo, latencyMs } from "./answer.ts";
import { type Bill, Billing, COMPLETIONS_PATH, type Model, readCompletion } from "./completions.ts";
import { type Dialect, ratelimit } from "./dialects.ts";
import { deliver, isStillThere } from "./delivery.ts";
import { ALWAYS_HEALTHY, type Fault, faultAt, type FaultScript } from "./faults.ts";
import { seededRandom, type Span } from "./randomness.ts";
import { type BusiestWindow, RequestLedger, type Verdict } from "./request-ledger.ts";
import { resourceList, type Resources } from "./resources.ts";
import { type Algorithm, type Limit, slidingLog } from "./meters.ts";

export type UpstreamOptions = {
  readonly name: string;
  /** The bearer token. Without one, every request is accepted. */
  readonly key?: string | undefined;
  readonly limits?: readonly Limit[];
  readonly algorithm?: Algorithm;
  /** How it speaks of its limits; by default as the newest draft does. */
  readonly dialect?: Dialect;
  /** From counting the request to answering it. */
  readonly latency?: Span;
  readonly script?: FaultScript;
  readonly seed?: number;
  readonly resources?: Resources;
  /** Those that complete at `/v1/chat/completions`; without any, there is nothing at that path. */
  readonly models?: readonly Model[];
  /** How many of the last requests `seen` keeps; all of them by default. */
  readonly keepSeen?: number;
};

export type SeenRequest = {
  /** Since the upstream's start. */
  readonly atMs: number;
  readonly method: string;
  /** Path and query, unchanged. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly keyAccepted: boolean;
  readonly fault: Fault;
  /** It was beyond a limit of the upstream, or of its model. Undefined until it is counted. */
  readonly isRefused?: boolean;
};

const AT_ONCE: Span = { minMs: 0, maxMs: 0 };

export async function startSimulatedUpstream(options: UpstreamOptions): Promise<SimulatedUpstream> {
  const upstream = new SimulatedUpstream(options);
  await upstream.listen();
  return upstream;
}

/** A real HTTP server that enforces its limits, fails by its script, and records every request. */
export class SimulatedUpstream implements AsyncDisposable {
  readonly name: string;
  readonly #options: UpstreamOptions;
  readonly #server: Server;
  readonly #ledger: RequestLedger;
  readonly #ledgersOfModels: ReadonlyMap<string, RequestLedger>;
  readonly #billing = new Billing();
  readonly #random: () => number;
  readonly #seen: SeenRequest[] = [];
  readonly #startedAtMs = performance.now();
  #url = "";
  /** For all requests, and for completions of one model. */
  readonly #faults = new Map<string | undefined, Fault>();

  constructor(options: UpstreamOptions) {
    this.name = options.name;
    this.#options = options;
    this.#random = seededRandom(options.seed ?? 1);
    const ledger = (limits: readonly Limit[] = []): RequestLedger =>
      new RequestLedger(limits, options.algorithm ?? slidingLog, performance.now() - Date.now());
    this.#ledger = ledger(options.limits);
    this.#ledgersOfModels = new Map(options.models?.map(({ id, limits }) => [id, ledger(limits)]));
    // By default Node.js refuses a request without a Host before we can count it.
    this.#server = createServer(
      { requireHostHeader: false },
      (request, response) => void this.#answer(request, response),
    );
  }

  /** `http://127.0.0.1:PORT` */
  get url(): string {
    return this.#url;
  }

  /** Oldest first. */
  get seen(): readonly SeenRequest[] {
    return this.#seen;
  }

  /** All requests so far, whatever the answer. */
  get requests(): number {
    return this.#ledger.requests;
  }

  /** Requests beyond a limit. */
  get violations(): number {
    return this.#ledger.violations;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAtMs;
  }

  get fault(): Fault {
    return this.#faultOf(undefined);
  }

  /** By the account's limits, or by the model's own. */
  worstWindow(model?: string): readonly BusiestWindow[] {
    const ledger = model === undefined ? this.#ledger : this.#ledgersOfModels.get(model);
    return ledger?.worstWindow() ?? [];
  }

  /** The completions of one model have cost so much. */
  billOf(model: string): Bill {
    return this.#billing.of(model);
  }

  /** All completions have cost so much. */
  get cost(): number {
    return this.#billing.cost;
  }

  /** Applies to every request from now on, or to every completion of one model; undefined returns to the script. */
  setFault(fault: Fault | undefined, model?: string): void {
    if (fault === undefined) this.#faults.delete(model);
    else this.#faults.set(model, fault);
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new TypeError("cannot tell the server's port");
    this.#url = `http://127.0.0.1:${address.port}`;
  }

  /** Ends every connection, answered or not. */
  async close(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, "close") : undefined;
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const sent = bodyOf(request);
    const seen = this.#remember(request);
    const counted = this.#ledger.count(performance.now());
    const path = seen.target.replace(/\?.*$/, "");
    const { models } = this.#options;
    const isCompletion = models !== undefined && path === COMPLETIONS_PATH;
    const completion = isCompletion ? readCompletion(await sent, models) : undefined;
    const model = typeof completion === "object" ? completion.model.id : undefined;
    const fault = model === undefined ? seen.fault : this.#faultOf(model);
    const verdict = counted.allowed ? (this.#countFor(model) ?? counted) : counted;
    Object.assign(seen, { isRefused: !verdict.allowed });
    await isStillThere(latencyMs(fault, this.#options.latency ?? AT_ONCE, this.#random), gone.signal);
    const { dialect = ratelimit } = this.#options;
    const answer = answerTo({
      ...seen,
      fault,
      path,
      allowed: verdict.allowed,
      limitHeaders: dialect(verdict, Date.now()),
      resources: resourceList(this.#options.resources ?? []),
      completion,
    });
    const { charged } = answer;
    if (charged !== undefined) this.#billing.charge(charged.model, 1, charged.tokens);
    if (gone.signal.aborted) return;
    await deliver(response, answer, fault, gone.signal, (tokens) => {
      if (charged !== undefined) this.#billing.charge(charged.model, 0, tokens);
    });
  }

  #faultOf(model: string | undefined): Fault {
    const set = this.#faults.get(model) ?? this.#faults.get(undefined);
    return set ?? faultAt(this.#options.script ?? ALWAYS_HEALTHY, this.elapsedMs, model);
  }

  #countFor(model: string | undefined): Verdict | undefined {
    const limits = this.#options.models?.find(({ id }) => id === model)?.limits;
    if (model === undefined || limits === undefined) return undefined;
    return this.#ledgersOfModels.get(model)?.count(performance.now());
  }

  #isKey(authorization = ""): boolean {
    const { key } = this.#options;
    return key === undefined || /^bearer (?<token>.*)$/i.exec(authorization)?.groups?.["token"] === key;
  }

  #remember(request: IncomingMessage): SeenRequest {
    const target = request.url ?? "";
    const seen: SeenRequest = {
      atMs: this.elapsedMs,
      method: request.method ?? "",
      target,
      headers: request.headers,
      keyAccepted: this.#isKey(request.headers.authorization),
      fault: this.fault,
    };
    this.#seen.push(seen);
    if (this.#seen.length > (this.#options.keepSeen ?? Number.POSITIVE_INFINITY)) this.#seen.shift();
    return seen;
  }
}

/** A caller that leaves has sent this. */
function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  return new Promise((resolve) => {
    for (const event of ["end", "close"]) request.once(event, () => resolve(Buffer.concat(pieces)));
  });
}
