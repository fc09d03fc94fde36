import { once } from "node:events";
import { type Server, type Socket, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A way to a server that can be cut.
 * `drop`: silence in both directions, as of a cable that is out. What was sent meanwhile is not lost: it arrives
 * when the way is mended, however late, as a kernel sends again what nobody acknowledged.
 * `mute`: only the server's answers are silent.
 * `reset`: whatever connects is thrown out at once.
 */
export type Cut = "drop" | "mute" | "reset";

type Pair = { readonly near: Socket; far: Socket | undefined };

export class CuttableProxy implements AsyncDisposable {
  readonly #targetPort: number;
  readonly #server: Server = createServer({ allowHalfOpen: true }, (near) => this.#accept(near));
  readonly #pairs = new Set<Pair>();
  #cut: Cut | undefined;
  #delayMs = (): number => 0;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy does not listen");
    return address.port;
  }

  get openConnections(): number {
    return this.#pairs.size;
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
  }

  cut(how: Cut): void {
    this.#cut = how;
    for (const { near, far } of this.#pairs) {
      if (how === "reset") near.resetAndDestroy();
      else far?.pause();
      if (how === "drop") near.pause();
    }
  }

  /** Each piece that passes from now on takes so long, each way. */
  delay(ms: () => number): void {
    this.#delayMs = ms;
  }

  mend(): void {
    this.#cut = undefined;
    for (const pair of this.#pairs) {
      if (pair.far === undefined) this.#reach(pair);
      pair.near.resume();
      pair.far?.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { near } of this.#pairs) near.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(near: Socket): void {
    near.on("error", () => {});
    if (this.#cut === "reset") return void near.resetAndDestroy();
    const pair: Pair = { near, far: undefined };
    this.#pairs.add(pair);
    near.pause();
    near.once("close", () => {
      this.#pairs.delete(pair);
      pair.far?.destroy();
    });
    if (this.#cut === "drop") return;
    this.#reach(pair);
    near.resume();
    if (this.#cut === "mute") pair.far?.pause();
  }

  #reach(pair: Pair): void {
    const far = connect({ port: this.#targetPort, host: "127.0.0.1", allowHalfOpen: true });
    pair.far = far;
    far.on("error", () => {});
    this.#forward(pair.near, far);
    this.#forward(far, pair.near);
    far.once("close", () => pair.near.destroy());
  }

  /** Without a word about pressure: what passes here is small. */
  #forward(from: Socket, to: Socket): void {
    let before: Promise<unknown> = Promise.resolve();
    from.on("data", (chunk: Buffer) => {
      const delayMs = this.#delayMs();
      if (delayMs > 0) before = Promise.all([before, sleep(delayMs)]);
      before = before.then(() => to.write(chunk));
    });
    from.on("end", () => void before.then(() => to.end()));
  }
}

export async function openProxy(targetPort: number): Promise<CuttableProxy> {
  const proxy = new CuttableProxy(targetPort);
  await proxy.listen();
  return proxy;
}
