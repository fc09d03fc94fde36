import { Child } from "./child.ts";

/** By the upstream's own clock. */
export type Served = {
  readonly path: string;
  /** Since the epoch, when the connection was taken. */
  readonly atMs: number;
  /** From the connection's taking until the answer was handed to the kernel. */
  readonly durationMs: number;
};

export type ClockQuestion = "where" | "served";
export type ClockAnswer = { readonly port: number; readonly served: readonly Served[] };

/** An upstream that knows how long it took. */
export class ClockUpstream implements AsyncDisposable {
  readonly #child: Child<ClockQuestion, ClockAnswer>;
  readonly url: string;

  private constructor(child: Child<ClockQuestion, ClockAnswer>, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<ClockUpstream> {
    const child = new Child<ClockQuestion, ClockAnswer>("clock-upstream-main.ts");
    const { port } = await child.ask("where");
    return new ClockUpstream(child, port);
  }

  /** Since it was asked last. */
  async served(): Promise<readonly Served[]> {
    return (await this.#child.ask("served")).served;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]();
  }
}
