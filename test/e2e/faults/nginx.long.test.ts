import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { METHODS, SAFE_METHODS } from "../../../src/kernel/config/config.ts";
import { freePort } from "../../../tools/stack/free-port.ts";
import { Program } from "../../../tools/stack/program.ts";
import { openConfigFolder } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { accountsOf } from "../../support/metrics/slot-accounts.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { requireBinary } from "../../support/processes/binaries.ts";

const NGINX = requireBinary("nginx");

/** What nginx itself has read of each request. */
type Seen = {
  readonly method: string;
  readonly uri: string;
  readonly type: string;
  readonly length: string;
  readonly body: string;
  readonly id: string;
  readonly user: string;
};

const LOG = `escape=json '{"method":"$request_method","uri":"$request_uri","type":"$http_content_type","length":"$http_content_length","body":"$request_body","id":"$http_idempotency_key","user":"$remote_user"}'`;

/** In the words of nginx: a line end is written as one. */
const EVENTS =
  ': hello\n\ndata: {"role":"assistant"}\n\ndata: {"text":"o"}\n\ndata: {"text":"k"}\n\ndata: [DONE]\n\n';

const TEXT = [{ contains: "OK" }, { lacks: "error" }, { matches: '^\\{"ok":(true|false)\\}$' }];

async function openNginx(binary: string): Promise<{ url: string; seen: () => Promise<readonly Seen[]> }> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-nginx-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  const [port, inner] = [await freePort(), await freePort()];
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const config = `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections 64; }
http {
  log_format requests ${LOG};
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join("\n  ")}
  gzip on;
  gzip_min_length 0;
  gzip_types text/event-stream;
  server {
    listen 127.0.0.1:${inner};
    location = /stream { default_type text/event-stream; return 200 '${EVENTS}'; }
    location / { default_type application/json; return 200 '{"ok":true}'; }
  }
  server {
    listen 127.0.0.1:${port};
    location = /ready { return 200; }
    location /moved { access_log ${folder}/access.log requests; return 307 /elsewhere; }
    location / {
      access_log ${folder}/access.log requests;
      client_body_buffer_size 512k;
      proxy_pass http://127.0.0.1:${inner};
    }
  }
}
`;
  await writeFile(join(folder, "nginx.conf"), config);
  const args = ["-e", "stderr", "-p", folder, "-c", join(folder, "nginx.conf")];
  const program = new Program(binary, { args });
  onTestFinished(() => program[Symbol.asyncDispose]());
  const url = `http://127.0.0.1:${port}`;
  await program.ready(`${url}/ready`);
  const seen = async (): Promise<readonly Seen[]> => {
    const lines = (await readFile(join(folder, "access.log"), "utf8")).split("\n").slice(0, -1);
    return lines.map((line): Seen => JSON.parse(line));
  };
  return { url, seen };
}

test.skipIf(NGINX === undefined)(
  "nginx receives each method and body once, as the config has it",
  async () => {
    const nginx = await openNginx(NGINX ?? "");
    await using folder = await openConfigFolder({ budgets: {}, upstreams: [] });
    const large = "x".repeat(256 * 1024);
    await writeFile(join(folder.folder, "large.txt"), large);
    const json = { model: "small", messages: [{ role: "user", content: 'zwölf "${FILLED}"' }] };
    const bodies: Record<string, object> = {
      POST: { json },
      PUT: { text: "zwölf" },
      PATCH: { form: { a: "1 &=", b: "ä" } },
      DELETE: { file: "large.txt" },
    };
    const upstreams = METHODS.map((method) => ({
      name: method,
      method,
      path: `/of/${method}`,
      ...(bodies[method] && { body: bodies[method] }),
      idempotency_key: method === "POST",
      // What is not safe waits for its first slot.
      ...(!SAFE_METHODS.has(method) && { every: "10s" }),
    }));
    await folder.write({
      web: { listen: "127.0.0.1:0" },
      budgets: { api: { rate: { requests: 600, per: "1m" }, share: "50%" } },
      defaults: {
        base_url: nginx.url,
        auth: { basic: { user: "api", password: { env: "PASSWORD" } } },
        budget: "api",
        every: "1h",
      },
      upstreams: [
        ...upstreams,
        { name: "moved", method: "POST", path: "/moved", every: "10s" },
        { name: "text", path: "/text", expect: { json: false, body: TEXT } },
        {
          name: "stream",
          path: "/stream",
          stream: { format: "sse", ends: { data: "[DONE]" }, counts: { path: "/text" } },
          expect: { body: [{ of: "joined", matches: "^ok$" }] },
        },
        { name: "other-text", path: "/text", expect: { json: false, body: [{ matches: "^<html>" }] } },
      ],
    });
    const environment = { PASSWORD: "test-key-of-nginx", FILLED: "test-key-filled" };
    await using daemon = await startDaemon({ configPath: folder.path, environment });
    await eventually("each is polled", async () => {
      const accounts = accountsOf(await daemon.metrics());
      return accounts.length === METHODS.length + 4 && accounts.every(({ polls }) => polls > 0);
    });
    const stateOf = async (name: string): Promise<unknown> =>
      JSON.parse((await daemon.get(`/api/v1/upstreams/${name}`)).body);
    expect(JSON.stringify(await stateOf("text"))).toContain('"outcome":"ok"');
    expect(JSON.stringify(await stateOf("stream"))).toMatch(/"outcome":"ok".*"first_event":/);
    expect(JSON.stringify(await stateOf("other-text"))).toContain("expected a text that matches");
    const seen = await nginx.seen();
    const byMethod = Object.fromEntries(
      seen.filter(({ uri }) => uri.startsWith("/of/")).map((one) => [one.method, one]),
    );
    for (const { upstream, polls, inFlight } of accountsOf(await daemon.metrics()))
      expect(seen.filter(({ uri }) => uri === `/of/${upstream}`).length).toBeLessThanOrEqual(
        polls + inFlight,
      );
    expect(Object.keys(byMethod).toSorted()).toEqual(METHODS.toSorted());
    const text = JSON.stringify(json).replace("${FILLED}", "test-key-filled");
    expect(byMethod).toMatchObject({
      GET: { body: "", length: "", user: "api", id: "" },
      HEAD: { body: "", length: "" },
      OPTIONS: { body: "", length: "" },
      POST: { body: text, type: "application/json", length: String(Buffer.byteLength(text)) },
      PUT: { body: "zwölf", type: "text/plain; charset=utf-8" },
      PATCH: { body: "a=1+%26%3D&b=%C3%A4", type: "application/x-www-form-urlencoded" },
      DELETE: { body: large, type: "application/octet-stream" },
    });
    expect(byMethod["POST"]?.id).toMatch(/^\w+-\w+$/);
    expect(seen.filter(({ uri }) => uri === "/elsewhere")).toEqual([]);
  },
);
