import type { LookupFunction } from "node:net";
import type { Upstream } from "../core/config.ts";
import { type Exchange, type Observation, type Phase, headerValue } from "../core/exchange.ts";
import type { Clock, Probe } from "../core/ports.ts";
import { decodeBody } from "./undici-decode.ts";
import { type Parties, Talk } from "./undici-exchange.ts";
import { Line } from "./undici-line.ts";
import type { Environment, ProxyServer } from "./undici-proxy.ts";
import { RequestWriter, type WireRequest } from "./undici-request.ts";
import { Secrecy } from "./undici-secrecy.ts";
import { type Way, findWay } from "./undici-way.ts";

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
  const way = await findWay(upstream, environment, clock, lookup);
  const forwardProxy = way.tls === undefined ? way.proxy : undefined;
  return new UndiciProbe(options, way, new RequestWriter(upstream, userAgent, forwardProxy));
}

class UndiciProbe implements Probe {
  readonly #options: ProbeOptions;
  readonly #origin: string;
  readonly #way: Way;
  readonly #writer: RequestWriter;
  readonly #secrecy: Secrecy;
  readonly #parties: Parties;
  readonly #running = new Map<Talk, Promise<unknown>>();
  #kept: Line | undefined;
  #closed = false;

  constructor(options: ProbeOptions, way: Way, writer: RequestWriter) {
    this.#options = options;
    this.#origin = new URL(options.upstream.url).origin;
    this.#way = way;
    this.#writer = writer;
    this.#secrecy = new Secrecy(way.proxy?.secrets ?? []);
    this.#parties = {
      upstream: `${way.host}:${way.port}`,
      peer: way.proxy === undefined ? `${way.host}:${way.port}` : proxyName(way.proxy),
      encrypted: way.tls !== undefined,
    };
  }

  async poll(signal: AbortSignal, mayWrite: () => boolean = always): Promise<Observation> {
    const { upstream, clock } = this.#options;
    const talk = new Talk(clock, this.#parties, upstream.expect.maxBodyBytes, mayWrite);
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
  async #exchange(talk: Talk): Promise<Exchange> {
    let line: Line | undefined;
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

  async #request(talk: Talk): Promise<WireRequest | undefined> {
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

  #decode(talk: Talk, exchange: Exchange): Exchange {
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

  #observe(talk: Talk, exchange: Exchange): Observation {
    return {
      exchange: this.#secrecy.clean(exchange),
      durationMs: talk.durationMs,
      phasesMs: talk.timer.timesMs,
      reusedConnection: talk.sent && !talk.dialled,
      certificateExpiresAtMs: talk.wire?.certificateExpiresAtMs,
    };
  }

  #timeOut(talk: Talk): void {
    const limit = `within ${this.#options.upstream.timeoutMs} ms`;
    if (talk.wire === undefined) talk.fail("internal", `the key was not read ${limit}`);
    else talk.fail("timeout", `no whole answer ${limit}: still ${this.#doing(talk)}`);
  }

  #doing(talk: Talk): string {
    const { phase } = talk.timer;
    return phase === undefined ? "preparing" : DOING[phase];
  }

  #takeLine(): Line {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept?.isFree === true) return kept;
    kept?.release();
    return new Line(this.#origin, this.#way, this.#options.upstream.connection === "reuse");
  }

  async #putBack(line: Line | undefined, exchange: Exchange): Promise<void> {
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
