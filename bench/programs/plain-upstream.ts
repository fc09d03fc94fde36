import type { Identity } from "../../test/support/certificates.ts";
import { Child } from "./child.ts";

export type PlainQuestion = { readonly certFile: string; readonly keyFile: string };
export type PlainAnswer = { readonly httpPort: number; readonly httpsPort: number };

/** Answers at once, and keeps a connection where it is asked to: an upstream for counts, not for times. */
export class PlainUpstream implements AsyncDisposable {
  readonly #child: Child<PlainQuestion, PlainAnswer>;
  readonly httpUrl: string;
  readonly httpsUrl: string;

  private constructor(child: Child<PlainQuestion, PlainAnswer>, { httpPort, httpsPort }: PlainAnswer) {
    this.#child = child;
    this.httpUrl = `http://127.0.0.1:${httpPort}`;
    this.httpsUrl = `https://127.0.0.1:${httpsPort}`;
  }

  static async start({ certFile, keyFile }: Identity): Promise<PlainUpstream> {
    const child = new Child<PlainQuestion, PlainAnswer>("plain-upstream-main.ts");
    return new PlainUpstream(child, await child.ask({ certFile, keyFile }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]();
  }
}
