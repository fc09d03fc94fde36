import { type IncomingHttpHeaders, request } from "node:http";

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Whether the whole body came. */
  readonly complete: boolean;
};

export type Call = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
};

/** One request over a connection of its own. Rejects when no answer's head comes. */
export function call(url: string, { method = "GET", headers = {}, body, signal }: Call = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let answered = false;
    const sent = request(
      url,
      { method, headers, agent: false, ...(signal ? { signal } : {}) },
      (response) => {
        answered = true;
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", () => undefined);
        response.on("close", () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
            complete: response.complete,
          });
        });
      },
    );
    sent.on("error", (error) => {
      // After the head, the end of the answer tells the rest.
      if (!answered) reject(error);
    });
    sent.end(body);
  });
}
