import { cutOff, type HttpRequest, whenResponseEnds } from "../guards/guard.ts";
import { networkOf } from "../guards/network.ts";

/**
 * Who takes an answer now. Whoever takes nothing keeps a place until the answer's deadline, so where none is left, the
 * network that has the most of them loses its oldest one to a network that has less.
 */
export class Readers {
  readonly #byNetwork = new Map<string, Set<HttpRequest>>();

  add(request: HttpRequest): void {
    const network = networkIn(request);
    const reading = this.#byNetwork.get(network) ?? new Set();
    this.#byNetwork.set(network, reading.add(request));
    whenResponseEnds(request, () => this.#end(network, request));
  }

  /** Returns whether somebody had to leave for it. */
  makeRoomFor(request: HttpRequest): boolean {
    const own = this.#byNetwork.get(networkIn(request))?.size ?? 0;
    const bySize = [...this.#byNetwork].toSorted(([, a], [, b]) => b.size - a.size);
    const [[network, reading] = ["", new Set<HttpRequest>()]] = bySize;
    const [oldest] = reading;
    if (oldest === undefined || reading.size <= own + 1) return false;
    this.#end(network, oldest);
    cutOff(oldest.incoming.socket);
    return true;
  }

  #end(network: string, request: HttpRequest): void {
    const reading = this.#byNetwork.get(network);
    reading?.delete(request);
    if (reading?.size === 0) this.#byNetwork.delete(network);
  }
}

function networkIn({ incoming }: HttpRequest): string {
  return networkOf(incoming.socket.remoteAddress ?? "");
}
