import { createServer, type Server } from "node:http";
import { once } from "node:events";

export const LIMIT = { requests: 5, perMs: 1_000 };
/** What was in flight, for at most its timeout, cannot know of it. */
export const TIMEOUT_MS = 500;

type Pause = { readonly fromMs: number; readonly untilMs: number };

/** An upstream with an account of its own, by a clock that nobody steps. The first part of a path is the budget. */
export class CountingUpstream implements AsyncDisposable {
  readonly #server: Server;
  readonly #random: () => number;
  readonly #asked = new Map<string, number[]>();
  readonly #pauses = new Map<string, Pause>();
  /** One sentence for each promise that was broken. */
  readonly broken: string[] = [];
  pausesGiven = 0;

  constructor(random: () => number) {
    this.#random = random;
    this.#server = createServer((request, response) => {
      const budget = request.url?.split("/")[1] ?? "";
      const pauseS = this.#count(budget);
      if (pauseS !== undefined) response.writeHead(429, { "retry-after": String(pauseS) });
      response.end("{}");
    });
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
    this.#pauses.clear();
  }

  /** A pause that was told just now may not have been written yet. */
  forgetPausesSince(fromMs: number): void {
    for (const [budget, pause] of this.#pauses) if (pause.fromMs >= fromMs) this.#pauses.delete(budget);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Returns for how long it asks to pause. */
  #count(budget: string): number | undefined {
    const nowMs = performance.now();
    const asked = this.#asked.get(budget) ?? [];
    asked.push(nowMs);
    this.#asked.set(budget, asked);
    const within = asked.filter((atMs) => atMs > nowMs - LIMIT.perMs).length;
    if (within > LIMIT.requests) this.broken.push(`${budget}: ${within} of ${LIMIT.requests} in a second`);
    const pause = this.#pauses.get(budget);
    if (pause !== undefined && nowMs > pause.fromMs + TIMEOUT_MS && nowMs < pause.untilMs - 50)
      this.broken.push(
        `${budget}: asked at ${Math.round(nowMs)}, ${Math.round(nowMs - pause.fromMs)} ms after it was told to pause for ${Math.round(pause.untilMs - pause.fromMs)} ms`,
      );
    if (budget !== "paused" || this.#random() > 0.15) return undefined;
    const pauseS = 2 + Math.floor(this.#random() * 5);
    this.#pauses.set(budget, { fromMs: nowMs, untilMs: nowMs + pauseS * 1_000 });
    this.pausesGiven += 1;
    return pauseS;
  }
}
