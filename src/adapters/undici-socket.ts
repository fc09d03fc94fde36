import { EventEmitter } from "node:events";
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

/**
 * Cuts a closed socket off from those who listened to it. V8 puts a function that is assigned to a property into the
 * old heap at once, and Node.js gives each socket one, `onwrite`: so a socket that nobody holds any more outlives every
 * small collection, and with it whatever it refers to.
 */
export function letGo(socket: Socket): void {
  // That of streams looks after the reading too, which is over.
  EventEmitter.prototype.removeAllListeners.call(socket);
  socket.on("error", ignore);
}

function ignore(): void {}
