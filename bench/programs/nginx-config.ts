export type Scheme = "http" | "https";

export type NginxPlace = {
  readonly folder: string;
  readonly ports: Readonly<Record<Scheme, readonly number[]>>;
  readonly certFile: string;
  readonly keyFile: string;
};

const DELAY_MS = 5;

/** How many requests nginx counts for one of ours: the one that it took, and those to its two inner servers. */
export const COUNTED_EACH = 3;

const BODY = JSON.stringify({ resources: [{ id: "a", status: "available" }], next: null });

/**
 * Plain nginx cannot wait. It can hold back the second request of one key, though: each request passes the same
 * limit twice on its way through two inner servers, with its own id as the key, so each is held back once, by 1/rate.
 */
export function nginxConfig({ folder, ports, certFile, keyFile }: NginxPlace): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `  ${kind}_temp_path ${folder}/${kind};`)
    .join("\n");
  const hop = `proxy_http_version 1.1; proxy_set_header Connection "";`;
  const listens = (scheme: Scheme, how: string): string =>
    ports[scheme].map((port) => `    listen 127.0.0.1:${port}${how} backlog=8192 reuseport;`).join("\n");
  const held = "limit_req zone=turn burst=100;";
  return `daemon off;
pid ${folder}/nginx.pid;
worker_processes 2;
worker_rlimit_nofile 20000;
error_log stderr error;
events { worker_connections 8192; }
http {
${temporary}
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 300s;
  keepalive_requests 1000000000;
  keepalive_time 24h;
  limit_req_zone $http_x_turn zone=turn:8m rate=${1_000 / DELAY_MS}r/s;
  limit_req_log_level info;
  upstream first { server unix:${folder}/first.sock; keepalive 512; }
  upstream second { server unix:${folder}/second.sock; keepalive 512; }
  server {
${listens("http", "")}
${listens("https", " ssl")}
    ssl_certificate ${certFile};
    ssl_certificate_key ${keyFile};
    location = /count { stub_status; }
    location / { ${hop} proxy_set_header X-Turn $request_id; proxy_pass http://first; }
  }
  server {
    listen unix:${folder}/first.sock backlog=8192;
    location / { ${held} ${hop} proxy_pass http://second; }
  }
  server {
    listen unix:${folder}/second.sock backlog=8192;
    location / { ${held} try_files /none @answer; }
    location @answer { default_type application/json; return 200 '${BODY}'; }
  }
}
`;
}
