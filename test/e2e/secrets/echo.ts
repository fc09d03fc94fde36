import { gzipSync } from "node:zlib";
import { WRITINGS } from "../../support/written.ts";
import { type RawConnection, type RawUpstream, answer, openRawUpstream } from "../../support/raw-upstream.ts";

/** An upstream that says the key it was given wherever an answer has room for it. */

/** Every shape in which a careless server could repeat a key. */
function shapesOf(key: string): readonly string[] {
  return Object.values(WRITINGS).map((write) => write(key));
}

const isToken = (text: string): boolean => /^[A-Za-z0-9-]+$/.test(text);

type Echo = (connection: RawConnection, key: string) => void | Promise<void>;

/** On one line, as a header needs it. */
const filled = (key: string): string =>
  shapesOf(key)
    .join(" ; ")
    .replaceAll(/[\r\n\0]+/g, "");

/** An excerpt has room for the beginning only: one shape an answer. */
const shapeByShape: Readonly<Record<string, Echo>> = Object.fromEntries(
  shapesOf("k").map((_, index): [string, Echo] => [
    `shape-${index}`,
    (raw, key) =>
      raw.end(answer(`${shapesOf(key)[index]} is not known here`, ["Connection: close"], "500 Oops")),
  ]),
);

export const ECHOES: Readonly<Record<string, Echo>> = {
  "in-every-place": (raw, key) => {
    const body = JSON.stringify({ error: `no such key: ${key}`, shapes: shapesOf(key).slice(0, 12) });
    const named = isToken(key) ? [`X-${key}: 1`] : [];
    const headers = [
      `WWW-Authenticate: Bearer realm="${key}"`,
      `X-Echo: ${filled(key)}`,
      `X-Request-Id: ${key}`,
      ...named,
      "Connection: close",
    ];
    raw.end(answer(body, headers, `401 Bad key ${key}`));
  },
  "as-an-announcement": (raw, key) => {
    const links = `<https://a.example/${encodeURIComponent(key)}>; rel="sunset"`;
    const headers = [`Link: ${links}`, `Warning: 299 - "${key}"`, `Deprecation: ${key}`, "Connection: close"];
    raw.end(answer("{}", headers));
  },
  "in-html": (raw, key) => raw.end(answer(`<title>${filled(key)}</title>`, ["Connection: close"])),
  "at-the-cut-of-the-excerpt": (raw, key) =>
    raw.end(answer("x".repeat(290) + key, ["Connection: close"], "503 Busy")),
  "at-the-cut-of-the-detail": (raw, key) => raw.end(answer("x".repeat(30) + key, ["Connection: close"])),
  "as-hints": (raw, key) => {
    const headers = [`Retry-After: ${key}`, `RateLimit: "${key}";r=${key}`, `X-RateLimit-Reset: ${key}`];
    raw.end(answer(`{"key":${JSON.stringify(key)}}`, [...headers, "Connection: close"], `429 ${key}`));
  },
  "as-a-place-to-go": (raw, key) =>
    raw.end(
      answer("", [`Location: /stolen?key=${encodeURIComponent(key)}`, "Connection: close"], "302 Found"),
    ),
  "for-a-status-line": (raw, key) => raw.end(`HTTP/1.1 ${key}\r\n\r\n`),
  "for-a-version": (raw, key) => raw.end(`${key} 200 OK\r\n\r\n`),
  "for-a-length": (raw, key) => raw.end(`HTTP/1.1 200 OK\r\nContent-Length: ${key}\r\n\r\n{}`),
  "for-a-chunk": (raw, key) => raw.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${key}\r\n{}`),
  "in-a-chunk's-extension": (raw, key) =>
    raw.end(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;${key}=1\r\n{}\r\n0\r\n${key}: 1\r\n\r\n`,
    ),
  "for-an-encoding": (raw, key) => raw.end(answer("{}", [`Content-Encoding: ${key}`, "Connection: close"])),
  compressed: (raw, key) => {
    const body = gzipSync(`${key} is not known here`);
    const head = `HTTP/1.1 500 ${key}\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
    raw.end(Buffer.concat([Buffer.from(head), body]));
  },
  "in-half-an-answer": (raw, key) =>
    raw.end(`HTTP/1.1 500 ${key}\r\nContent-Length: 5000\r\nX-Echo: ${filled(key)}\r\n\r\n${key}`),
  "before-a-reset": (raw, key) => {
    raw.write(`HTTP/1.1 200 ${key}\r\nContent-Length: 5000\r\n\r\n${key}`);
    setTimeout(() => raw.reset(), 50);
  },
  "in-too-large-a-body": (raw, key) => raw.end(answer(filled(key).repeat(200))),
  "in-too-large-a-head": (raw, key) => raw.end(answer("{}", [`X-Echo: ${filled(key).repeat(200)}`])),
  "before-the-answer": (raw, key) =>
    raw.end(`HTTP/1.1 103 ${key}\r\nLink: </${key}>\r\n\r\n${answer(filled(key), ["Connection: close"])}`),
  "and-then-silence": (raw, key) => raw.write(`HTTP/1.1 200 ${key}\r\nX-Echo: ${filled(key)}\r\n`),
  ...shapeByShape,
};

export type EchoUpstream = RawUpstream & {
  /** Every key that arrived, by the echo that it was sent to. */
  readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
};

/** Which echo answers is the last part of the path's name. `POST /token` gives this token. */
export async function openEchoUpstream(token: string): Promise<EchoUpstream> {
  const keys = new Map<string, Set<string>>();
  const upstream = await openRawUpstream(async (connection) => {
    const head = await connection.request();
    // A poll that ran out of time before it was sent, or another program of this machine that tries a port.
    if (head === undefined || !OURS.test(head)) return connection.end();
    if (head.startsWith("POST /token ")) {
      const given = { access_token: token, token_type: "Bearer", expires_in: 3_600 };
      return connection.end(answer(JSON.stringify(given), ["Connection: close"]));
    }
    const key = keyIn(head);
    const echo = /^(?:GET|POST) \S*\/echo\/([^/? ]+)/.exec(head)?.[1] ?? "";
    keys.set(echo, (keys.get(echo) ?? new Set()).add(key));
    const play = ECHOES[echo];
    if (play === undefined) connection.end(answer(filled(key)));
    else await play(connection, key);
  });
  return Object.assign(upstream, { keys });
}

const OURS = /\r\nUser-Agent: pacewatch\//i;

function keyIn(head: string): string {
  const [, client] = /^POST [^]*\r\nAuthorization: Basic ([^\r]+)/.exec(head) ?? [];
  if (client !== undefined) {
    const [, secret = ""] = Buffer.from(client, "base64").toString().split(":");
    return new URLSearchParams(`secret=${secret}`).get("secret") ?? "";
  }
  const [, basic] = /^GET [^]*\r\nAuthorization: Basic ([^\r]+)/.exec(head) ?? [];
  if (basic !== undefined) return Buffer.from(basic, "base64").toString().slice("user:".length);
  const [, query] = /^GET \S*[?&]api_key=([^& ]+)/.exec(head) ?? [];
  const [, header] =
    /\r\n(?:Authorization: Bearer|X-Api-Key:|Proxy-Authorization: Basic) ([^\r]+)/.exec(head) ?? [];
  const [, path] = /^GET \S*\/echo\/[^/? ]+\/([^/? ]+)/.exec(head) ?? [];
  return query === undefined ? (header ?? path ?? "") : decodeURIComponent(query);
}
