import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";

/** Several times what the largest fleet's states take. The client keeps an answer in memory until it is complete. */
const ANSWER_MAX_BYTES = 32 * 1_024 * 1_024;

export class AnswerTooLong extends Error {
  constructor() {
    super(`an answer of Redis is longer than ${ANSWER_MAX_BYTES} bytes: the connection was closed`);
  }
}

/** The client shows its sockets to nobody, but Node.js tells of each. */
const isOpening = new AsyncLocalStorage<true>();

subscribe("net.client.socket", (message) => {
  if (isOpening.getStore() !== true || typeof message !== "object" || message === null) return;
  if (!("socket" in message) || !(message.socket instanceof Socket)) return;
  const { socket } = message;
  const answer = new AnswerSize();
  socket.on("data", (chunk: Buffer) => {
    if (answer.add(chunk) <= ANSWER_MAX_BYTES) return;
    // The client is shown these bytes after us, and would make room for what they announce.
    chunk.fill("-");
    socket.destroy(new AnswerTooLong());
  });
});

/** Connections that are opened in here, now or later, are closed at an answer that is too long. */
export function withShortAnswers<Result>(connect: () => Result): Result {
  return isOpening.run(true, connect);
}

/** What the client sets aside for each value of an array as soon as it is announced. */
const VALUE_BYTES = 8;
const LINE_FEED = 0x0a;
const LONGEST_HEAD_CHARS = 32;

/** How long the answer is that a server is sending, by the rules of RESP2: what it has announced counts already. */
export class AnswerSize {
  #bytes = 0;
  #head = "";
  /** Of the current string. */
  #bytesLeft = 0;
  /** Of the current answer: an array has many, which may be arrays. */
  #valuesLeft = 1;

  add(chunk: Buffer): number {
    for (let at = 0; at < chunk.length;) {
      const from = at;
      if (this.#bytesLeft > 0) {
        at = Math.min(chunk.length, at + this.#bytesLeft);
        this.#bytesLeft -= at - from;
        if (this.#bytesLeft === 0) this.#valuesLeft -= 1;
      } else {
        const end = chunk.indexOf(LINE_FEED, at);
        at = end < 0 ? chunk.length : end + 1;
        const room = LONGEST_HEAD_CHARS - this.#head.length;
        this.#head += chunk.toString("latin1", from, Math.min(at, from + room));
        if (end >= 0) this.#readHead();
      }
      this.#bytes += at - from;
      if (this.#valuesLeft > 0) continue;
      this.#bytes = 0;
      this.#valuesLeft = 1;
    }
    return this.#bytes + this.#bytesLeft + (this.#valuesLeft - 1) * VALUE_BYTES;
  }

  #readHead(): void {
    const count = Number.parseInt(this.#head.slice(1), 10);
    if (this.#head.startsWith("$") && count >= 0) this.#bytesLeft = count + 2;
    else this.#valuesLeft += this.#head.startsWith("*") && count > 0 ? count - 1 : -1;
    this.#head = "";
  }
}
