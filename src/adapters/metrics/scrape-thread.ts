import type { ScrapeFrame } from "../../core/metrics/scrape-frame.ts";
import { type Coding, ScrapeWriter } from "./scrape-writer.ts";
import type { TextStream } from "./text-in-turns.ts";

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
