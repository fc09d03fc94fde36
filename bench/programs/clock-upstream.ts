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
export type ClockAnswer = { readonly ports: readonly number[]; readonly served: readonly Served[] };

/** An upstream that knows how long it took. */
export class ClockUpstream implements AsyncDisposable {
  readonly #child: Child<ClockQuestion, ClockAnswer>;
  readonly #ports: readonly number[];

  private constructor(child: Child<ClockQuestion, ClockAnswer>, ports: readonly number[]) {
    this.#child = child;
    this.#ports = ports;
  }

  static async start(): Promise<ClockUpstream> {
    const child = new Child<ClockQuestion, ClockAnswer>("clock-upstream-main.ts");
    const { ports } = await child.ask("where");
    return new ClockUpstream(child, ports);
  }

  /** Where the upstream of this number is: it is so many hosts. */
  url(upstream = 0): string {
    return `http://127.0.0.1:${this.#ports[upstream % this.#ports.length]}`;
  }

  /** Since it was asked last. */
  async served(): Promise<readonly Served[]> {
    return (await this.#child.ask("served")).served;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]();
  }
}
