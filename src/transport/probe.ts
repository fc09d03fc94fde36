import {
  type Exchange,
  headerValue,
  type LargeBody,
  type Observation,
  SMALL_BODY_BYTES,
} from "../kernel/exchange/exchange.ts";
import type { Probe, Gate } from "../kernel/poll/ports.ts";
import { oneLine } from "../kernel/text/escape.ts";
import { KnownKeys } from "./secrets/known-keys.ts";
import { PollClient } from "./poll-client.ts";
import { decodeBody } from "./decode.ts";
import type { BuildRequest, Endpoint } from "./request.ts";
import { RequestInFlight, type RequestParts } from "./request-in-flight.ts";
import type { Route } from "./route.ts";

export type ProbeOptions = RequestParts & {
  readonly upstream: Endpoint;
  /** The secrets in its URL: they are hidden in whatever is kept of an answer. */
  readonly secrets?: readonly string[];
  /** Asked before every poll, because keys rotate. */
  readonly credential: (() => string | Promise<string>) | undefined;
  /** Where the credential is a token that must be fetched first. */
  readonly gate?: Gate | undefined;
  /** Whether all answers are handed over, however small: judging one may take long. */
  readonly handsOver?: boolean;
};

/**
 * Polls one upstream. Each poll is a request, which is lent a client from when it is sent until its answer has ended; the
 * client owns the connection.
 *
 *      request     key ──── sent ──── written ──── answer ──── end
 *      client               taken ──────────────────────────── kept for the next one, or destroyed where it broke
 *      connection           opened, or that of the last one ── closed, or kept with its client
 */
export class UndiciProbe implements Probe {
  readonly gate: Gate | undefined;
  readonly #options: ProbeOptions;
  readonly #origin: string;
  readonly #route: Route;
  readonly #build: BuildRequest;
  readonly #keys: KnownKeys;
  readonly #running = new Map<RequestInFlight, Promise<Observation>>();
  #kept: PollClient | undefined;
  #isClosed = false;

  constructor(options: ProbeOptions, route: Route, build: BuildRequest) {
    this.gate = options.gate;
    this.#options = options;
    this.#origin = new URL(options.upstream.url).origin;
    this.#route = route;
    this.#build = build;
    this.#keys = new KnownKeys([...(options.secrets ?? []), ...(route.proxy?.secrets ?? [])]);
  }

  poll(signal: AbortSignal, mayWrite = (): boolean => true, pollId?: string): Promise<Observation> {
    const request = new RequestInFlight(this.#options, this.#route, mayWrite);
    if (signal.aborted || this.#isClosed) request.cancel("the poll was cancelled");
    const polled = this.#poll(request, signal, pollId);
    this.#running.set(request, polled);
    return polled;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#running];
    for (const [request] of running) request.cancel("the probe was closed");
    await Promise.allSettled(running.map(([, polled]) => polled));
    await this.#kept?.destroy();
    this.#kept = undefined;
  }

  /** Never rejects. After a broken exchange it resolves when the connection has closed. */
  async #poll(request: RequestInFlight, signal: AbortSignal, pollId?: string): Promise<Observation> {
    const cutOff = (): void => request.cancel("the poll was cancelled");
    signal.addEventListener("abort", cutOff);
    let client: PollClient | undefined;
    try {
      const read = request.hasEnded ? undefined : this.#options.credential?.();
      // A key from a file may take longer than the poll.
      const key = typeof read === "object" ? await Promise.race([read, request.ended]) : read;
      if (!request.hasEnded) client = this.#send(request, typeof key === "object" ? undefined : key, pollId);
    } catch (error) {
      request.failWith(error);
    }
    const answer = await request.ended;
    try {
      const decoded = this.#decode(request, answer);
      const exchange = decoded ?? answer;
      if (exchange.kind === "broken" || request.wasLeft) await client?.destroy();
      else if (client !== undefined) this.#keep(client);
      const large = decoded === undefined ? this.#handOver(request) : undefined;
      if (large === undefined) request.releaseMemory();
      return request.observation(this.#shown(exchange), this.#keys.hideInLines, large);
    } finally {
      signal.removeEventListener("abort", cutOff);
      this.#running.delete(request);
    }
  }

  /** Waits for nothing: a request that ended meanwhile would still be sent. */
  #send(request: RequestInFlight, key: string | undefined, pollId: string | undefined): PollClient {
    const written = this.#build(key, pollId, this.#options.clock);
    const { secret } = written;
    if (key !== undefined) this.#keys.learn("", secret === undefined ? key : `${key}\n${secret}`);
    this.#route.material?.refresh(this.#options.clock.now());
    const client = this.#takeClient();
    client.send(written, request);
    return client;
  }

  /** Undefined where the body is too large to be decoded here. */
  #decode(request: RequestInFlight, exchange: Exchange): Exchange | undefined {
    if (exchange.kind === "broken") return exchange;
    const { head, body } = exchange;
    if (head.status === 407 && this.#route.proxy !== undefined && this.#route.tls === undefined) {
      const detail = "the proxy rejected the credentials: it answered 407";
      return { ...request.broken("connect", detail), head: undefined };
    }
    if (this.#options.handsOver === true) return undefined;
    const { memory, upstream } = this.#options;
    const { maxBodyBytes } = upstream.expect;
    const mostBytes = memory === undefined ? maxBodyBytes : Math.min(maxBodyBytes, SMALL_BODY_BYTES);
    if (body.byteLength > mostBytes) return undefined;
    const decoded = decodeBody(body, headerValue(head.headers, "content-encoding"), mostBytes);
    if (decoded.kind === "decoded") return { ...exchange, body: decoded.body };
    if (decoded.fault === "body_too_large" && mostBytes < maxBodyBytes) return undefined;
    return request.broken(decoded.fault, decoded.detail);
  }

  #handOver(request: RequestInFlight): LargeBody {
    const { maxBodyBytes: maxBytes } = this.#options.upstream.expect;
    return { maxBytes, keys: this.#keys.all, release: () => request.releaseMemory() };
  }

  #takeClient(): PollClient {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept?.isFree === true) return kept;
    kept?.release();
    const keeps = this.#options.upstream.connection === "reuse";
    return new PollClient(this.#origin, this.#route, keeps);
  }

  #keep(client: PollClient): void {
    client.finish();
    if (this.#kept === undefined && !this.#isClosed) this.#kept = client;
    else client.release();
  }

  /** Our own words, but for the name of an encoding. */
  #shown(exchange: Exchange): Exchange {
    if (exchange.kind === "answered") return exchange;
    return { ...exchange, detail: oneLine(this.#keys.hideInLines(exchange.detail)) };
  }
}
