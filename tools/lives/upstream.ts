import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";

export const LIMIT = { requests: 5, perMs: 1_000 };
export const TIMEOUT_MS = 500;

/** Known from when the client has closed the connection on which it was told, having read the answer. */
type Pause = { readonly fromMs: number; readonly untilMs: number; knownMs: number };

/** An upstream with an account of its own, by a clock that nobody steps. The first part of a path is the budget. */
export class CountingUpstream implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #random: () => number;
  readonly #asked = new Map<string, number[]>();
  #pauses: readonly Pause[] = [];
  /** One sentence for each promise that was broken. */
  readonly broken: string[] = [];

  constructor(random: () => number) {
    this.#random = random;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));
  }

  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it must listen on a port");
    return `http://127.0.0.1:${address.port}`;
  }

  asked(budget: string): number {
    return this.#asked.get(budget)?.length ?? 0;
  }

  /** What happened to the process or its files excuses that it knows of no pause that it was told before. */
  forgetPauses(): void {
    this.#pauses = [];
  }

  /** A pause that was told just now may not have been written yet. */
  forgetPausesSince(fromMs: number): void {
    this.#pauses = this.#pauses.filter(({ knownMs }) => knownMs < fromMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** A request may have been on its way when the pause was told, so it is judged by when it connected. */
  #serve(socket: Socket): void {
    const connectedMs = performance.now();
    let head = "";
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy()).on("close", () => this.#sockets.delete(socket));
    socket.setEncoding("latin1").on("data", (piece) => {
      head += String(piece);
      if (!head.endsWith("\r\n\r\n")) return;
      const pauseS = this.#count(head.split("/")[1] ?? "", connectedMs);
      const [status, advice] =
        pauseS === undefined ? ["200 OK", ""] : ["429 Slow Down", `Retry-After: ${pauseS}\r\n`];
      socket.end(`HTTP/1.1 ${status}\r\n${advice}Content-Length: 2\r\nConnection: close\r\n\r\n{}`);
      if (pauseS !== undefined) this.#pause(socket, pauseS * 1_000);
    });
  }

  #pause(socket: Socket, forMs: number): void {
    const fromMs = performance.now();
    const pause: Pause = { fromMs, untilMs: fromMs + forMs, knownMs: Infinity };
    this.#pauses = [...this.#pauses.filter(({ untilMs }) => untilMs > fromMs), pause];
    // Whoever connected before that may be seen in the same turn of the event loop. A client that gave up resets it.
    socket.once("end", () => void setImmediate(() => (pause.knownMs = performance.now())));
  }

  /** Returns for how many seconds it asks to pause. */
  #count(budget: string, connectedMs: number): number | undefined {
    const nowMs = performance.now();
    const asked = this.#asked.get(budget) ?? [];
    asked.push(nowMs);
    this.#asked.set(budget, asked);
    const within = asked.filter((atMs) => atMs > nowMs - LIMIT.perMs).length;
    if (within > LIMIT.requests) this.broken.push(`${budget}: ${within} of ${LIMIT.requests} in a second`);
    if (budget !== "paused") return undefined;
    for (const { fromMs, untilMs, knownMs } of this.#pauses) {
      if (connectedMs <= knownMs || nowMs >= untilMs - 50) continue;
      this.broken.push(
        `connected ${Math.round(connectedMs - knownMs)} ms after it knew of a pause, asked at ${Math.round(nowMs)}, ${Math.round(nowMs - fromMs)} ms after it was told to pause for ${Math.round(untilMs - fromMs)} ms`,
      );
    }
    return this.#random() > 0.15 ? undefined : 2 + Math.floor(this.#random() * 5);
  }
}
