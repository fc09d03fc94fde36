import { pathOf } from "../../src/http/guards/http-request.ts";
import { createRoutes, type Routes } from "../../src/http/routes/routes.ts";

export type AskedRoutes = Pick<Routes, "routes"> & {
  request(path: string, asked?: Asked): Promise<Response>;
};

type Asked = { readonly method?: string; readonly headers?: Readonly<Record<string, string>> };

/** The routes without a socket. */
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
  const { status, headers, body } = await answerTo({ method, url, path: pathOf(url), header });
  const parts = typeof body === "object" ? ReadableStream.from(body) : body;
  return new Response(method === "HEAD" ? null : parts, { status, headers });
}
