import type { ScrapeFrame, ScrapeSubjects } from "../../core/metrics/scrape-frame.ts";
import type { TextStream } from "./text-in-turns.ts";
import type { Transferable } from "node:worker_threads";
import { startThread } from "../thread.ts";

/** Writes texts in a thread of its own, which is there from the first on, and again after it rested or died. */
export class ScrapeThread implements AsyncDisposable {
  #writer: ScrapeWriter | undefined;

  /** Made as it is read, one part ahead of its reader, and not at all where nobody reads. The `ending` comes last. */
  text(
    frame: ScrapeFrame,
    coding: Coding,
    ending: () => Promise<string>,
    onBug: (error: unknown) => void,
  ): TextStream {
    const parts = this.#parts(frame, coding, ending);
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await parts.next();
            if (done === true) controller.close();
            else controller.enqueue(value);
          } catch (error) {
            // Whoever reads it sees it end too early, and nobody else would ever know why.
            onBug(error);
            throw error;
          }
        },
        cancel: async () => {
          await parts.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Until the next text, if none is being read. */
  rest(): void {
    if (this.#writer?.isIdle !== true) return;
    void this.#writer[Symbol.asyncDispose]();
    this.#writer = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer?.[Symbol.asyncDispose]();
  }

  async *#parts(
    frame: ScrapeFrame,
    coding: Coding,
    ending: () => Promise<string>,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    if (this.#writer?.isOver !== false) this.#writer = new ScrapeWriter();
    const writing = this.#writer.write(frame, coding, ending());
    try {
      let { part, isLast } = await writing.ask();
      while (!isLast) {
        const next = writing.ask();
        yield part;
        ({ part, isLast } = await next);
      }
      yield part;
    } finally {
      writing.leave();
    }
  }
}

const SCRAPE_WORKER = new URL("./scrape-worker.ts", import.meta.url);

/** A text that is being written. */
type Writing = {
  /** The next part; one after the other. */
  ask(): Promise<ScrapeReply>;
  /** Whether or not it is all told. */
  leave(): void;
};

/** One life of the thread. */
class ScrapeWriter implements AsyncDisposable {
  readonly #worker = startThread({ name: "scrapes", module: SCRAPE_WORKER, canWait: true });
  readonly #awaited = new Map<number, PromiseWithResolvers<ScrapeReply>>();
  readonly #open = new Set<number>();
  /** What the thread knows. */
  #cast: ScrapeSubjects | undefined;
  #scrapes = 0;
  #fault = new Error("cannot write a scrape: its thread ended");
  #isOver = false;

  constructor() {
    this.#worker.on("message", (reply: ScrapeReply) => this.#awaited.get(reply.scrape)?.resolve(reply));
    this.#worker.on("error", (error) => void (this.#fault = error));
    this.#worker.on("exit", () => {
      this.#isOver = true;
      for (const { reject } of this.#awaited.values()) reject(this.#fault);
    });
    this.#worker.unref();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isIdle(): boolean {
    return this.#open.size === 0;
  }

  write(frame: ScrapeFrame, coding: Coding, ending: Promise<string>): Writing {
    const scrape = (this.#scrapes += 1);
    this.#open.add(scrape);
    if (this.#cast !== frame.cast) this.#tell({ kind: "cast", cast: withoutTheRest(frame.cast) });
    this.#cast = frame.cast;
    const { numbers } = frame;
    this.#tell({ kind: "begin", scrape, numbers, coding }, [numbers.buffer]);
    const ended = ending.then((text) => this.#tell({ kind: "ending", scrape, text }));
    return {
      ask: () => {
        const reply = this.#ask(scrape);
        // Without an ending the last part would never come.
        const part = Promise.race([reply, ended.then(() => reply)]);
        // Of a part that nobody waits for any more nobody hears.
        part.catch(() => {});
        return part;
      },
      leave: () => {
        this.#tell({ kind: "leave", scrape });
        this.#open.delete(scrape);
        this.#awaited.delete(scrape);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }

  #ask(scrape: number): Promise<ScrapeReply> {
    const reply = Promise.withResolvers<ScrapeReply>();
    this.#awaited.set(scrape, reply);
    if (this.#isOver) reply.reject(this.#fault);
    this.#tell({ kind: "more", scrape });
    return reply.promise;
  }

  #tell(request: ScrapeRequest, moved: Transferable[] = []): void {
    this.#worker.postMessage(request, moved);
  }
}

/** Of each upstream only what a scrape tells: thousands are copied. */
function withoutTheRest(cast: ScrapeSubjects): ScrapeSubjects {
  const upstreams = cast.upstreams.map(({ name, budget, labels, schedule, objective, expect }) => ({
    name,
    budget,
    labels,
    schedule,
    objective,
    expect,
  }));
  return { ...cast, upstreams };
}

export type Coding = "plain" | "gzip";

export type ScrapeRequest =
  /** Whose numbers come from now on. */
  | { readonly kind: "cast"; readonly cast: ScrapeSubjects }
  /** A text is to be made of these. */
  | {
      readonly kind: "begin";
      readonly scrape: number;
      readonly numbers: Float64Array<ArrayBuffer>;
      readonly coding: Coding;
    }
  /** What comes behind all else; it may still come when all else is told. */
  | { readonly kind: "ending"; readonly scrape: number; readonly text: string }
  | { readonly kind: "more"; readonly scrape: number }
  | { readonly kind: "leave"; readonly scrape: number };

/** One for each `more`. */
export type ScrapeReply = {
  readonly scrape: number;
  readonly part: Uint8Array<ArrayBuffer>;
  readonly isLast: boolean;
};
