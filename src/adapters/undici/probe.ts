import type { LookupFunction } from "node:net";
import type { Upstream } from "../../core/config/config.ts";
import { type Exchange, type Observation, type Phase, headerValue } from "../../core/exchange/exchange.ts";
import type { Probe } from "../../core/poll/ports.ts";
import type { Clock } from "../../core/time/clock.ts";
import { decodeBody } from "./decode.ts";
import { type Parties, RequestInFlight } from "./request-in-flight.ts";
import { ClientSlot } from "./client-slot.ts";
import type { Environment, ProxyServer } from "./proxy.ts";
import { RequestWriter, type WireRequest } from "./request.ts";
import { SecretRedactor } from "./secret-redactor.ts";
import { type Route, findRoute } from "./route.ts";

export type ProbeOptions = {
  readonly upstream: Upstream;
  /** Asked before every poll, as keys rotate. */
  readonly credential: (() => Promise<string>) | undefined;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly environment: Environment;
  /** The system's resolver by default. */
  readonly lookup?: LookupFunction;
};

const LENGTH_CHECK_EVERY_MS = 50;

const DOING: Readonly<Record<Phase, string>> = {
  dns: "resolving the name",
  connect: "connecting",
  tls: "in the TLS handshake",
  wait: "waiting for an answer",
  transfer: "reading the answer",
};

/** Throws one sentence where the TLS files, the proxy or the static headers cannot be used. */
export async function openProbe(options: ProbeOptions): Promise<Probe> {
  const { upstream, environment, clock, lookup, userAgent } = options;
  const way = await findRoute(upstream, environment, clock, lookup);
  const forwardProxy = way.tls === undefined ? way.proxy : undefined;
  return new UndiciProbe(options, way, new RequestWriter(upstream, userAgent, forwardProxy));
}

class UndiciProbe implements Probe {
  readonly #options: ProbeOptions;
  readonly #origin: string;
  readonly #way: Route;
  readonly #writer: RequestWriter;
  readonly #secrecy: SecretRedactor;
  readonly #parties: Parties;
  readonly #running = new Map<RequestInFlight, Promise<unknown>>();
  #kept: ClientSlot | undefined;
  #closed = false;

  constructor(options: ProbeOptions, way: Route, writer: RequestWriter) {
    this.#options = options;
    this.#origin = new URL(options.upstream.url).origin;
    this.#way = way;
    this.#writer = writer;
    this.#secrecy = new SecretRedactor(way.proxy?.secrets ?? []);
    this.#parties = {
      upstream: `${way.host}:${way.port}`,
      peer: way.proxy === undefined ? `${way.host}:${way.port}` : proxyName(way.proxy),
      encrypted: way.tls !== undefined,
    };
  }

  async poll(signal: AbortSignal, mayWrite: () => boolean = always): Promise<Observation> {
    const { upstream, clock } = this.#options;
    const talk = new RequestInFlight(clock, this.#parties, upstream.expect.maxBodyBytes, mayWrite);
    const cutOff = (): void =>
      talk.fail("timeout", `cut off while ${this.#doing(talk)}: the poll was called off`);
    // After a pause of this process, timers come before the answers that arrived meanwhile: let those be read first.
    const deadline = setTimeout(() => setImmediate(() => this.#timeOut(talk)), upstream.timeoutMs);
    const lengthCheck = setInterval(() => talk.checkLength(), LENGTH_CHECK_EVERY_MS);
    signal.addEventListener("abort", cutOff, { once: true });
    if (signal.aborted || this.#closed) cutOff();
    const polled = this.#exchange(talk);
    this.#running.set(talk, polled);
    try {
      return this.#observe(talk, await polled);
    } finally {
      clearTimeout(deadline);
      clearInterval(lengthCheck);
      signal.removeEventListener("abort", cutOff);
      this.#running.delete(talk);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const running = [...this.#running];
    for (const [talk] of running)
      talk.fail("timeout", `cut off while ${this.#doing(talk)}: the probe was closed`);
    await Promise.allSettled(running.map(([, polled]) => polled));
    await this.#kept?.destroy();
    this.#kept = undefined;
  }

  /** Never rejects; resolves when the connection of a broken exchange has closed. */
  async #exchange(talk: RequestInFlight): Promise<Exchange> {
    let line: ClientSlot | undefined;
    try {
      const request = await this.#request(talk);
      if (request !== undefined && !talk.over) {
        this.#way.material?.refresh(this.#options.clock.now());
        line = this.#takeLine();
        line.send(request, talk);
      }
    } catch (error) {
      talk.failWith(error);
    }
    const exchange = this.#decode(talk, await talk.ended);
    await this.#putBack(line, exchange);
    return exchange;
  }

  async #request(talk: RequestInFlight): Promise<WireRequest | undefined> {
    const { credential } = this.#options;
    if (credential === undefined || talk.over) return talk.over ? undefined : this.#writer.write(undefined);
    try {
      const key = await Promise.race([credential(), talk.ended]);
      if (typeof key !== "string") return undefined;
      this.#secrecy.learn(key);
      return this.#writer.write(key);
    } catch (error) {
      talk.failWith(error);
      return undefined;
    }
  }

  #decode(talk: RequestInFlight, exchange: Exchange): Exchange {
    if (exchange.kind === "broken") return exchange;
    const { head, body } = exchange;
    if (head.status === 407 && this.#way.proxy !== undefined && this.#way.tls === undefined) {
      const detail = "the proxy wants other credentials: it answered 407";
      return { ...talk.broken("connect", detail), head: undefined };
    }
    const maxBytes = this.#options.upstream.expect.maxBodyBytes;
    const decoded = decodeBody(body, headerValue(head.headers, "content-encoding"), maxBytes);
    if (decoded.kind === "break") return talk.broken(decoded.fault, decoded.detail);
    return { kind: "answered", head, body: decoded.body };
  }

  #observe(talk: RequestInFlight, exchange: Exchange): Observation {
    return {
      exchange: this.#secrecy.clean(exchange),
      durationMs: talk.durationMs,
      phasesMs: talk.timer.timesMs,
      reusedConnection: talk.sent && !talk.dialled,
      certificateExpiresAtMs: talk.wire?.certificateExpiresAtMs,
    };
  }

  #timeOut(talk: RequestInFlight): void {
    const limit = `within ${this.#options.upstream.timeoutMs} ms`;
    if (talk.wire === undefined) talk.fail("internal", `the key was not read ${limit}`);
    else talk.fail("timeout", `no whole answer ${limit}: still ${this.#doing(talk)}`);
  }

  #doing(talk: RequestInFlight): string {
    const { phase } = talk.timer;
    return phase === undefined ? "preparing" : DOING[phase];
  }

  #takeLine(): ClientSlot {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept?.isFree === true) return kept;
    kept?.release();
    return new ClientSlot(this.#origin, this.#way, this.#options.upstream.connection === "reuse");
  }

  async #putBack(line: ClientSlot | undefined, exchange: Exchange): Promise<void> {
    if (line === undefined) return;
    if (exchange.kind === "broken") return line.destroy();
    if (line.rest() && this.#kept === undefined && !this.#closed) this.#kept = line;
    else line.release();
  }
}

function always(): boolean {
  return true;
}

function proxyName(proxy: ProxyServer): string {
  return `the proxy ${proxy.host}:${proxy.port}`;
}
