/** One that must end in time, and be of a bounded length. */
export type Watched = { readonly leftMs: number; timeOut(): void; checkLength(): void };

const LOOK_EVERY_MS = 50;

/** Looks after all requests in flight with one timer, in place of two for each. It rests while there are none. */
export class Deadlines {
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  add(request: Watched): void {
    this.#watched.add(request);
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS);
    timeOutBeforeNextLook(request);
  }

  delete(request: Watched): void {
    this.#watched.delete(request);
  }

  #look(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const request of this.#watched) {
      request.checkLength();
      timeOutBeforeNextLook(request);
    }
  }
}

function timeOutBeforeNextLook(request: Watched): void {
  const { leftMs } = request;
  if (leftMs > LOOK_EVERY_MS) return;
  // After this process was paused, timers run before the answers that arrived meanwhile: let those be read first.
  setTimeout(() => setImmediate(() => request.timeOut()), Math.max(0, leftMs));
}
