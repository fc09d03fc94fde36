import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { pathOf } from "../../src/http/server/answer-requests.ts";
import { createRoutes, type Routes } from "../../src/http/routes/routes.ts";

export type AskedRoutes = Pick<Routes, "routes"> & {
  request(path: string, asked?: Asked): Promise<Response>;
};

type Asked = { readonly method?: string; readonly headers?: Readonly<Record<string, string>> };

/** The routes on sockets that lead nowhere. */
export function routesToAsk(...parameters: Parameters<typeof createRoutes>): AskedRoutes {
  const routes = createRoutes(...parameters);
  return {
    routes: routes.routes,
    request: (path, asked) => requestTo((each) => routes.answer(each), path, asked),
  };
}

export async function requestTo(
  answerTo: Routes["answer"],
  path: string,
  { method = "GET", headers: given = {} }: Asked = {},
): Promise<Response> {
  const url = new URL(path, "http://localhost");
  const sent = new Headers(given);
  const header = (name: string): string | undefined => sent.get(name) ?? undefined;
  const incoming = new IncomingMessage(new Socket());
  incoming.url = `${url.pathname}${url.search}`;
  const outgoing = new ServerResponse(incoming);
  const request = { method, url, path: pathOf(url), header, incoming, outgoing };
  const { status, headers, body } = await answerTo(request);
  if (method === "HEAD" || typeof body !== "object") {
    outgoing.emit("close");
    return new Response(method === "HEAD" ? null : body, { status, headers });
  }
  return new Response(ReadableStream.from(closedAfter(body, outgoing)), { status, headers });
}

async function* closedAfter<Part>(
  parts: AsyncIterable<Part>,
  outgoing: ServerResponse,
): AsyncGenerator<Part> {
  yield* parts;
  outgoing.emit("close");
}
