import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { request as requestTls } from "node:https";

export type Answer = { readonly status: number; readonly body: string };

/** One request on a connection of its own; over TLS, any certificate will do. Not fetch: Node.js 24's trips over an answer that it is slow to read. */
export async function ask(url: string, method = "GET", user?: string): Promise<Answer> {
  const send = url.startsWith("https:") ? requestTls : request;
  const asking = send(url, { method, agent: false, rejectUnauthorized: false, auth: user });
  const answer = await answerTo(asking);
  return { status: answer.statusCode ?? 0, body: Buffer.concat(await Array.fromAsync(answer)).toString() };
}

/** In a format that is not text. */
export async function askBytes(url: string, accept: string): Promise<Buffer> {
  const send = url.startsWith("https:") ? requestTls : request;
  const headers = { Accept: accept };
  const asking = send(url, { agent: false, rejectUnauthorized: false, headers });
  return Buffer.concat(await Array.fromAsync(await answerTo(asking)));
}

async function answerTo(asking: ClientRequest): Promise<IncomingMessage> {
  // A reset within the answer is an error of both: of the answer, which rejects where it is read, and of the request.
  asking.on("error", () => {});
  asking.end();
  const [answer]: IncomingMessage[] = await once(asking, "response");
  if (answer === undefined) throw new Error(`no answer from ${asking.path}`);
  return answer;
}
