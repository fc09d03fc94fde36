import { type Exchange, type Observation, headerValue } from "../../core/exchange/exchange.ts";
import type { Probe, Token } from "../../core/poll/ports.ts";
import { oneLine } from "../../core/text/escape.ts";
import type { Clock } from "../../core/time/clock.ts";
import { ClientSlot } from "./client-slot.ts";
import { decodeBody } from "./decode.ts";
import type { Environment } from "./proxy.ts";
import { type Asked, RequestBuilder, type WireRequest } from "./request.ts";
import { RequestInFlight, type Target } from "./request-in-flight.ts";
import { findRoute, type Names, type Route } from "./route.ts";
import { SecretRedactor } from "./secret-redactor.ts";

export type ProbeOptions = {
  readonly upstream: Asked;
  /** Those in its URL. */
  readonly secrets?: readonly string[];
  /** Asked before every poll, because keys rotate. */
  readonly credential: (() => Promise<string>) | undefined;
  /** Where the credential is a token that must be fetched first. */
  readonly token?: Token | undefined;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly names: Names;
};

/** Throws one sentence where the TLS files, the proxy or the static headers cannot be used. */
export async function openProbe(options: ProbeOptions): Promise<Probe> {
  const { upstream, environment, clock, names, userAgent } = options;
  const route = await findRoute(upstream, environment, clock, names);
  const forwardProxy = route.tls === undefined ? route.proxy : undefined;
  return new UndiciProbe(options, route, new RequestBuilder(upstream, userAgent, forwardProxy));
}

const LENGTH_CHECK_EVERY_MS = 50;

class UndiciProbe implements Probe {
  readonly token: Token | undefined;
  readonly #options: ProbeOptions;
  readonly #origin: string;
  readonly #route: Route;
  readonly #builder: RequestBuilder;
  readonly #redactor: SecretRedactor;
  readonly #target: Target;
  readonly #running = new Map<RequestInFlight, Promise<Exchange>>();
  #kept: ClientSlot | undefined;
  #isClosed = false;

  constructor(options: ProbeOptions, route: Route, builder: RequestBuilder) {
    const { url, expect, connection } = options.upstream;
    const { proxy, host, port } = route;
    this.token = options.token;
    this.#options = options;
    this.#origin = new URL(url).origin;
    this.#route = route;
    this.#builder = builder;
    this.#redactor = new SecretRedactor([...(options.secrets ?? []), ...(proxy?.secrets ?? [])]);
    this.#target = {
      upstream: `${host}:${port}`,
      peer: proxy === undefined ? `${host}:${port}` : `the proxy ${proxy.host}:${proxy.port}`,
      encrypted: route.tls !== undefined,
      maxBodyBytes: expect.maxBodyBytes,
      keepsConnection: connection === "reuse",
    };
  }

  async poll(signal: AbortSignal, mayWrite: () => boolean = always): Promise<Observation> {
    const { clock, upstream } = this.#options;
    const { timeoutMs } = upstream;
    const request = new RequestInFlight(clock, this.#target, mayWrite);
    const cancel = (): void => request.cancel("the poll was cancelled");
    // After this process was paused, timers run before the answers that arrived meanwhile: let those be read first.
    const deadline = setTimeout(() => setImmediate(() => request.timeOut(timeoutMs)), timeoutMs);
    const lengthCheck = setInterval(() => request.checkLength(), LENGTH_CHECK_EVERY_MS);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted || this.#isClosed) cancel();
    const exchanged = this.#exchange(request);
    this.#running.set(request, exchanged);
    try {
      return request.observation(await exchanged, this.#redactor.hide);
    } finally {
      clearTimeout(deadline);
      clearInterval(lengthCheck);
      signal.removeEventListener("abort", cancel);
      this.#running.delete(request);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#running];
    for (const [request] of running) request.cancel("the probe was closed");
    await Promise.allSettled(running.map(([, exchanged]) => exchanged));
    await this.#kept?.destroy();
    this.#kept = undefined;
  }

  /** Never rejects. After a broken exchange it resolves when the connection has closed. */
  async #exchange(request: RequestInFlight): Promise<Exchange> {
    let slot: ClientSlot | undefined;
    try {
      const built = await this.#build(request);
      if (built !== undefined && !request.hasEnded) {
        this.#route.material?.refresh(this.#options.clock.now());
        slot = this.#takeSlot();
        slot.send(built, request);
      }
    } catch (error) {
      request.failWith(error);
    }
    const exchange = this.#decode(request, await request.ended);
    await this.#returnSlot(slot, exchange);
    // Our own words, but for the name of an encoding.
    if (exchange.kind === "answered") return exchange;
    return { ...exchange, detail: oneLine(this.#redactor.hide(exchange.detail)) };
  }

  /** Undefined where the request ended before its key was read. */
  async #build(request: RequestInFlight): Promise<WireRequest | undefined> {
    const { credential } = this.#options;
    if (request.hasEnded) return undefined;
    if (credential === undefined) return this.#builder.build(undefined);
    const key = await Promise.race([credential(), request.ended]);
    if (typeof key !== "string") return undefined;
    this.#redactor.learn(key);
    return this.#builder.build(key);
  }

  #decode(request: RequestInFlight, exchange: Exchange): Exchange {
    if (exchange.kind === "broken") return exchange;
    const { head, body } = exchange;
    if (head.status === 407 && this.#route.proxy !== undefined && this.#route.tls === undefined) {
      const detail = "the proxy rejected the credentials: it answered 407";
      return { ...request.broken("connect", detail), head: undefined };
    }
    const encoding = headerValue(head.headers, "content-encoding");
    const decoded = decodeBody(body, encoding, this.#target.maxBodyBytes);
    if (decoded.kind === "break") return request.broken(decoded.fault, decoded.detail);
    return { kind: "answered", head, body: decoded.body };
  }

  #takeSlot(): ClientSlot {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept?.isFree === true) return kept;
    kept?.release();
    return new ClientSlot(this.#origin, this.#route, this.#target.keepsConnection);
  }

  async #returnSlot(slot: ClientSlot | undefined, exchange: Exchange): Promise<void> {
    if (slot === undefined) return;
    if (exchange.kind === "broken") return slot.destroy();
    slot.finish();
    if (this.#kept === undefined && !this.#isClosed) this.#kept = slot;
    else slot.release();
  }
}

function always(): boolean {
  return true;
}
