import type { AnswerHead, Exchange } from "../../core/exchange/exchange.ts";
import { oneLine } from "../../core/text/escape.ts";
import { SecretFinder } from "../secrets/finder.ts";

/** Below this, a key would be found in innocent text: the answer keeps its bytes, only our own words are searched. */
const SEARCHED_IN_ANSWERS_CHARS = 8;

/** Knows the secrets of one probe, and takes them out of whatever leaves it. */
export class SecretRedactor {
  readonly #lasting: readonly string[];
  #key: string | undefined;
  #inWords = new SecretFinder([]);
  #inAnswers = new SecretFinder([]);

  constructor(lasting: readonly string[]) {
    this.#lasting = lasting;
    this.#know(lasting);
  }

  /** Keys rotate; the one before is remembered no longer than the next one comes. */
  learn(key: string): void {
    if (key === this.#key) return;
    const before = this.#key === undefined ? [] : [this.#key];
    this.#key = key;
    this.#know([key, ...before, ...this.#lasting]);
  }

  #know(secrets: readonly string[]): void {
    this.#inWords = new SecretFinder(secrets);
    const long = secrets.filter(({ length }) => length >= SEARCHED_IN_ANSWERS_CHARS);
    this.#inAnswers = long.length === secrets.length ? this.#inWords : new SecretFinder(long);
  }

  detail(text: string): string {
    return oneLine(this.#inWords.hide(text));
  }

  /** An upstream that echoes the key into its answer must not bring it into pages and histories. */
  clean(exchange: Exchange): Exchange {
    switch (exchange.kind) {
      case "answered":
        if (!this.#isToldBy(exchange.head, exchange.body)) return exchange;
        return { ...exchange, head: this.#cleanHead(exchange.head), body: this.#cleanBody(exchange.body) };
      case "broken":
        return {
          ...exchange,
          detail: this.detail(exchange.detail),
          head: exchange.head === undefined ? undefined : this.#cleanHead(exchange.head),
        };
      default:
        return exchange satisfies never;
    }
  }

  /** Nearly every answer holds none: one look at all of it, instead of one at each of its parts. */
  #isToldBy({ reasonPhrase, headers }: AnswerHead, body: Uint8Array): boolean {
    if (this.#inAnswers.isEmpty) return false;
    return this.#inAnswers.isIn(`${reasonPhrase}\n${headers.flat().join("\n")}\n${textOf(body)}`);
  }

  #cleanHead({ status, reasonPhrase, headers }: AnswerHead): AnswerHead {
    const hide = (text: string): string => this.#inAnswers.hide(text);
    return {
      status,
      reasonPhrase: hide(reasonPhrase),
      headers: headers.map(([name, value]) => [hide(name), hide(value)] as const),
    };
  }

  /** Bytes in which nothing is found stay what they are, whether they are text or not. */
  #cleanBody(body: Uint8Array): Uint8Array {
    const text = textOf(body);
    const cleaned = this.#inAnswers.hide(text);
    return cleaned === text ? body : Buffer.from(cleaned);
  }
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
}
