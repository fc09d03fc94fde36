import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { request as requestTls } from "node:https";

export type Answer = { readonly status: number; readonly body: string };

/** One request on a connection of its own; over TLS, any certificate will do. Not fetch: Node.js 24's trips over an answer that it is slow to read. */
export async function ask(url: string, method = "GET", user?: string): Promise<Answer> {
  const send = url.startsWith("https:") ? requestTls : request;
  const asking = send(url, { method, agent: false, rejectUnauthorized: false, auth: user });
  // A reset within the answer is an error of both: of the answer, which rejects below, and of the request.
  asking.on("error", () => {});
  asking.end();
  const [answer]: IncomingMessage[] = await once(asking, "response");
  if (answer === undefined) throw new Error(`no answer from ${url}`);
  answer.setEncoding("utf8");
  const pieces: string[] = [];
  for await (const piece of answer) pieces.push(String(piece));
  return { status: answer.statusCode ?? 0, body: pieces.join("") };
}
