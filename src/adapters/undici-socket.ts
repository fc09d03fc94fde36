import { Socket } from "node:net";

/**
 * A socket that can be told to end with a reset. A mere close leaves the kernel sending what it still holds, for
 * minutes where packets are lost, and a request that was given up would be counted long after.
 *
 * It is told beforehand because TLS, laid over it, must be the one to close it: a socket that is reset beneath living
 * TLS crashes Node.js 24.
 */
export class ResettableSocket extends Socket {
  #resets = false;

  resetWhenDestroyed(): void {
    this.#resets = true;
  }

  /** While it connects there is nothing to reset; after its own end was sent the system refuses to. */
  override destroy(error?: Error): this {
    const resets = this.#resets && !this.destroyed && !this.connecting && !this.writableEnded;
    this.#resets = false;
    return resets ? this.resetAndDestroy() : super.destroy(error);
  }
}
