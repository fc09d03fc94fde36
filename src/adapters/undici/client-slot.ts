import type { buildConnector } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import { ConnectionAttempt } from "./connection-attempt.ts";
import type { RequestInFlight } from "./request-in-flight.ts";
import type { WireRequest } from "./request.ts";
import type { Route } from "./route.ts";

/** An answer's header block beyond this is no answer. */
const HEADERS_MAX_BYTES = 65_536;

/** How long an idle connection is kept where the upstream does not say; it closes it when it likes. */
const IDLE_MAX_MS = 600_000;

/** One for all, as nobody hears of it: to make one of each poll's own takes longer than to close. */
const RELEASED = new Error("its answer was read whole");

/**
 * One undici Client with at most one connection at a time, which sends a request at most once. Undici never sends again
 * what it has begun to write; a kept connection that goes before that is replaced, by undici or here, and only then: a
 * second connection for one talk is refused. Where no connection is kept, each talk makes one.
 */
export class ClientSlot {
  readonly #origin: string;
  readonly #way: Route;
  readonly #keep: boolean;
  #client: Client;
  #dial: ConnectionAttempt | undefined;
  #talk: RequestInFlight | undefined;

  constructor(origin: string, way: Route, keep: boolean) {
    this.#origin = origin;
    this.#way = way;
    this.#keep = keep;
    this.#client = this.#open();
  }

  send(request: WireRequest, talk: RequestInFlight): void {
    this.#talk = talk;
    const options = { method: "GET", ...request, ...(this.#keep ? {} : { reset: true }) } as const;
    talk.resumes(this.#keep ? this.#dial : undefined, () => {
      // The kept connection was reset while undici made sure that it lives. Nothing was written.
      void this.destroy();
      this.#client = this.#open();
      this.#client.dispatch(options, talk);
    });
    this.#client.dispatch(options, talk);
  }

  /**
   * After an answer that was read whole: whether another talk may begin. undici closes what is not kept; nothing of
   * the talk is remembered, as its answer may be large.
   */
  rest(): boolean {
    this.#talk = undefined;
    const dial = this.#dial;
    if (this.#keep || dial === undefined) return true;
    void dial.closed.then(() => {
      this.#dial = undefined;
    });
    return dial.isEnding;
  }

  /** Whether what is not kept has closed. */
  get isFree(): boolean {
    return this.#keep || this.#dial === undefined;
  }

  /** For good, after an answer that was read whole. */
  release(): void {
    this.#client.destroy(RELEASED, () => {});
  }

  /** Breaks off whatever is open; resolves when it has closed. */
  async destroy(): Promise<void> {
    const closed = this.#dial?.destroy();
    this.#client.destroy(() => {});
    await closed;
  }

  #open(): Client {
    return new Client(this.#origin, {
      connect: (_options, callback) => this.#connect(callback),
      pipelining: 1,
      // HTTP/2 streams that the server refuses are sent again by the library: requests that nobody holds a lease for.
      allowH2: false,
      useMilo: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: HEADERS_MAX_BYTES,
      keepAliveTimeout: IDLE_MAX_MS,
      keepAliveMaxTimeout: IDLE_MAX_MS,
    });
  }

  #connect(callback: buildConnector.Callback): void {
    const talk = this.#talk;
    if (talk === undefined || talk.over || talk.dialled) {
      callback(new Error("one poll makes one connection"), null);
      return;
    }
    const dial = new ConnectionAttempt(this.#way, talk.timer, (error, socket) => {
      if (error === undefined) callback(null, socket);
      else callback(error, null);
    });
    this.#dial = dial;
    talk.dials(dial);
  }
}
