import type { AnswerHead, Exchange } from "../../core/exchange/exchange.ts";
import { oneLine } from "../../core/text/escape.ts";
import { SecretFinder } from "../secrets/finder.ts";

/** A shorter key would be found in innocent text. It is searched for in our own words only, not in answers. */
const SEARCHED_IN_ANSWERS_CHARS = 8;

/** Knows the secrets of one probe, and removes them from everything that leaves it. */
export class SecretRedactor {
  readonly #permanent: readonly string[];
  #key: string | undefined;
  #inWords = new SecretFinder([]);
  #inAnswers = new SecretFinder([]);

  constructor(permanent: readonly string[]) {
    this.#permanent = permanent;
    this.#setSecrets(permanent);
  }

  /** Keys rotate: the previous one is remembered too. */
  learn(key: string): void {
    if (key === this.#key) return;
    const before = this.#key === undefined ? [] : [this.#key];
    this.#key = key;
    this.#setSecrets([key, ...before, ...this.#permanent]);
  }

  #setSecrets(secrets: readonly string[]): void {
    this.#inWords = new SecretFinder(secrets);
    const long = secrets.filter(({ length }) => length >= SEARCHED_IN_ANSWERS_CHARS);
    this.#inAnswers = long.length === secrets.length ? this.#inWords : new SecretFinder(long);
  }

  /** An upstream may echo the key in its answer: it must not reach pages and histories. */
  clean(exchange: Exchange): Exchange {
    switch (exchange.kind) {
      case "answered":
        if (!this.#isIn(exchange.head, exchange.body)) return exchange;
        return { ...exchange, head: this.#cleanHead(exchange.head), body: this.#cleanBody(exchange.body) };
      case "broken":
        return {
          ...exchange,
          detail: oneLine(this.#inWords.hide(exchange.detail)),
          head: exchange.head === undefined ? undefined : this.#cleanHead(exchange.head),
        };
      default:
        return exchange satisfies never;
    }
  }

  /** Nearly every answer holds none: one search in all of it is cheaper than one in each part. */
  #isIn({ reasonPhrase, headers }: AnswerHead, body: Uint8Array): boolean {
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

  /** A body in which nothing is found keeps its bytes, whether they are text or not. */
  #cleanBody(body: Uint8Array): Uint8Array {
    const text = textOf(body);
    const cleaned = this.#inAnswers.hide(text);
    return cleaned === text ? body : Buffer.from(cleaned);
  }
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
}
