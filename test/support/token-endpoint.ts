import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { type Limit, slidingLog } from "../../src/simulator/meters.ts";
import { RequestLedger } from "../../src/simulator/request-ledger.ts";

export type TokenRequest = { readonly authorization: string | undefined; readonly form: URLSearchParams };

/** Gives tokens and takes them, and counts both kinds of requests against one limit. */
export type TokenService = AsyncDisposable & {
  readonly url: string;
  readonly asked: readonly TokenRequest[];
  /** The tokens that polls came with. */
  readonly shown: readonly string[];
  readonly judge: RequestLedger;
};

export type GiveToken = (turn: number, response: ServerResponse, request: TokenRequest) => void;

export function giving(tokenOf: (turn: number) => string, expiresIn: unknown = 3_600): GiveToken {
  return (turn, response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ access_token: tokenOf(turn), token_type: "Bearer", expires_in: expiresIn }));
}

/** `POST /token`, or what ends like it, gives one; a GET answers whoever shows one that was given and not revoked since. */
export async function openTokenService(
  give: GiveToken = giving((turn) => `test-key-token-${turn}`),
  limit: Limit = { requests: 1_000_000, perMs: 1_000 },
  accepts: (token: string) => boolean = (token) => token.startsWith("test-key-token"),
): Promise<TokenService> {
  const judge = new RequestLedger([limit], slidingLog);
  const asked: TokenRequest[] = [];
  const shown: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    judge.count(performance.now());
    if (request.method === "POST" && request.url?.endsWith("/token") === true) {
      request.setEncoding("utf8");
      let body = "";
      for await (const piece of request) body += String(piece);
      const isForm = request.headers["content-type"] === "application/x-www-form-urlencoded";
      const form = new URLSearchParams(isForm ? body : "");
      const one = { authorization: request.headers.authorization, form };
      asked.push(one);
      give(asked.length, response, one);
      return;
    }
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    shown.push(token);
    response.writeHead(accepts(token) ? 200 : 401, { "content-type": "application/json" }).end("{}");
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    shown,
    judge,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function oauth2(service: { readonly url: string }, changes: object = {}): object {
  return {
    oauth2: {
      token_url: `${service.url}/token`,
      client_id: "pacewatch",
      client_secret: { env: "CLIENT_SECRET" },
      ...changes,
    },
  };
}
