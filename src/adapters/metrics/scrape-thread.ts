import type { ScrapeFrame, ScrapeSubjects } from "../../core/metrics/scrape-frame.ts";
import type { Transferable } from "node:worker_threads";
import { startThread } from "../thread.ts";

/** Writes texts, in gzip, in a thread, started with the first text, and again after it was stopped or crashed. */
export class ScrapeThread implements AsyncDisposable {
  #writer: ScrapeWriter | undefined;

  /** Written one part ahead of its reader; nothing is written if nobody reads. The `ending` comes last. */
  async *parts(
    frame: ScrapeFrame,
    ending: () => Promise<string>,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
    if (this.#writer?.isOver !== false) this.#writer = new ScrapeWriter();
    const writing = this.#writer.write(frame, ending());
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

  /** Stops the thread until the next text, unless one is being read. */
  rest(): void {
    if (this.#writer?.isIdle !== true) return;
    void this.#writer[Symbol.asyncDispose]();
    this.#writer = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer?.[Symbol.asyncDispose]();
  }
}

const SCRAPE_WORKER = new URL("./scrape-worker.ts", import.meta.url);

type Writing = {
  /** The next part. One request at a time. */
  ask(): Promise<ScrapeReply>;
  /** Complete or not. */
  leave(): void;
};

/** The thread, from start to exit. */
class ScrapeWriter implements AsyncDisposable {
  readonly #worker = startThread({ name: "scrapes", module: SCRAPE_WORKER, canWait: true });
  readonly #awaited = new Map<number, PromiseWithResolvers<ScrapeReply>>();
  readonly #open = new Set<number>();
  /** Sent to the thread last. */
  #subjects: ScrapeSubjects | undefined;
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

  write(frame: ScrapeFrame, ending: Promise<string>): Writing {
    const scrape = (this.#scrapes += 1);
    this.#open.add(scrape);
    if (this.#subjects !== frame.subjects)
      this.#tell({ kind: "subjects", subjects: scrapedOnly(frame.subjects) });
    this.#subjects = frame.subjects;
    const { numbers } = frame;
    this.#tell({ kind: "begin", scrape, numbers }, [numbers.buffer]);
    const ended = ending.then((text) => this.#tell({ kind: "ending", scrape, text }));
    return {
      ask: () => {
        const reply = this.#ask(scrape);
        // If the ending fails, the last part would never come.
        const part = Promise.race([reply, ended.then(() => reply)]);
        // A part that nobody waits for may fail silently.
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

/** Only the fields that a scrape shows: thousands are copied. */
function scrapedOnly(subjects: ScrapeSubjects): ScrapeSubjects {
  const upstreams = subjects.upstreams.map(
    ({ name, budgets, labels, schedule, confirm, objective, expect, values }) => ({
      name,
      budgets,
      labels,
      schedule,
      confirm,
      objective,
      expect,
      ...(values && { values }),
    }),
  );
  return { ...subjects, upstreams };
}

export type ScrapeRequest =
  /** Whose numbers follow. */
  | { readonly kind: "subjects"; readonly subjects: ScrapeSubjects }
  /** Begins a text of these numbers. */
  | { readonly kind: "begin"; readonly scrape: number; readonly numbers: Float64Array<ArrayBuffer> }
  /** The last lines; may come after everything else is written. */
  | { readonly kind: "ending"; readonly scrape: number; readonly text: string }
  | { readonly kind: "more"; readonly scrape: number }
  | { readonly kind: "leave"; readonly scrape: number };

/** One reply for each `more`. */
export type ScrapeReply = {
  readonly scrape: number;
  readonly part: Uint8Array<ArrayBuffer>;
  readonly isLast: boolean;
};
