/** Limiters of proxies: the programs as Debian has them. Neither tells its limit, nor when to come back. */

import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../tools/stack/free-port.ts";
import { Program } from "../../../tools/stack/program.ts";
import { type Allowance, BODY, type Limiter, type OpenLimiter, Tally } from "./limiter.ts";

export function nginxLimiter(path: string): Limiter {
  return { name: "nginx `limit_req`", tells: "nothing", open: (allowance) => openNginx(path, allowance) };
}

/**
 * It counts in fixed windows and takes the requests of the last window as evenly spread, so 9 that came late in it count
 * longer than they should: with polls every 4 s, one that is 0.9 s late is enough for a refusal.
 */
export function haproxyLimiter(path: string): Limiter {
  return {
    name: "HAProxy stick table",
    tells: "nothing",
    every: "5s",
    open: (allowance) => openHaproxy(path, allowance),
  };
}

type Place = { readonly folder: string; readonly port: number };

function nginxConfig({ folder, port }: Place, { requests, perMs }: Allowance): string {
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections 64; }
http {
  log_format statuses "$status";
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  limit_req_zone $binary_remote_addr zone=callers:1m rate=${Math.round((requests * 60_000) / perMs)}r/m;
  server {
    listen 127.0.0.1:${port};
    default_type application/json;
    root ${folder};
    access_log off;
    location = /ready { return 200; }
    location / {
      access_log ${folder}/access.log statuses;
      limit_req zone=callers burst=${requests - 1} nodelay;
      limit_req_status 429;
      try_files /body.json =404;
    }
  }
}
`;
}

async function openNginx(path: string, allowance: Allowance): Promise<OpenLimiter> {
  await using stack = new AsyncDisposableStack();
  const place = await placeFor("nginx", stack);
  const file = join(place.folder, "nginx.conf");
  const log = join(place.folder, "access.log");
  await writeFile(join(place.folder, "body.json"), BODY);
  await writeFile(file, nginxConfig(place, allowance));
  const program = stack.use(new Program(path, { args: ["-e", "stderr", "-p", place.folder, "-c", file] }));
  const url = `http://127.0.0.1:${place.port}`;
  await program.ready(`${url}/ready`);
  const owned = stack.move();
  return {
    url,
    answers: async () => tallied(await readFile(log, "utf8")),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function haproxyConfig({ port }: Place, { requests, perMs }: Allowance): string {
  return `global
  log stdout format raw daemon
defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend api
  bind 127.0.0.1:${port}
  http-request return status 200 if { path /ready }
  log global
  log-format "%ST"
  stick-table type ip size 1k expire ${perMs}ms store http_req_rate(${perMs}ms)
  http-request track-sc0 src
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt ${requests} }
  http-request return status 200 content-type application/json string '${BODY.replaceAll('"', '\\"')}'
`;
}

async function openHaproxy(path: string, allowance: Allowance): Promise<OpenLimiter> {
  await using stack = new AsyncDisposableStack();
  const place = await placeFor("haproxy", stack);
  const file = join(place.folder, "haproxy.cfg");
  await writeFile(file, haproxyConfig(place, allowance));
  const program = stack.use(new Program(path, { args: ["-db", "-f", file] }));
  const url = `http://127.0.0.1:${place.port}`;
  await program.ready(`${url}/ready`);
  const before = tallied(program.output).ok;
  const owned = stack.move();
  return {
    url,
    answers: async () => {
      const { ok, refused } = tallied(program.output);
      return { ok: ok - before, refused };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function placeFor(name: string, stack: AsyncDisposableStack): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), `pacewatch-limiter-${name}-`));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  // Where root starts it, its workers are nobody, and must reach the files in there.
  await chmod(folder, 0o755);
  return { folder, port: await freePort() };
}

function tallied(log: string): { readonly ok: number; readonly refused: number } {
  const tally = new Tally();
  for (const [status] of log.matchAll(/^\d{3}$/gm)) tally.add(Number(status));
  return tally.answers;
}
