import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../tools/stack/free-port.ts";
import { Program } from "../../tools/stack/program.ts";
import { endWithUs } from "./end-with-us.ts";
import { ask } from "../../test/support/http-ask.ts";
import type { Identity } from "../../test/support/certificates.ts";
import { COUNTED_EACH, nginxConfig, type Scheme } from "./nginx-config.ts";

export type Nginx = AsyncDisposable & {
  /** Where the upstream of this number is: it is so many hosts, as upstreams are of different owners. */
  url(scheme: Scheme, upstream?: number): string;
  /** How many requests it has been sent. */
  requests(): Promise<number>;
};

const HOSTS = 50;

/** The upstream whose cost is no part of any figure: it answers after a known delay, and counts nothing. */
export async function startNginx(path: string, { certFile, keyFile }: Identity): Promise<Nginx> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-bench-nginx-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  // Where root starts it, its workers are nobody, and must reach the sockets in there.
  await chmod(folder, 0o755);
  const free = await freePorts(2 * HOSTS);
  const ports = { http: free.slice(0, HOSTS), https: free.slice(HOSTS) };
  const file = join(folder, "nginx.conf");
  await writeFile(file, nginxConfig({ folder, ports, certFile, keyFile }));
  const args = ["-e", "stderr", "-p", folder, "-c", file];
  const program = stack.use(endWithUs(new Program(path, { args })));
  const url = (scheme: Scheme, upstream = 0): string =>
    `${scheme}://127.0.0.1:${ports[scheme][upstream % HOSTS]}`;
  await program.ready(url("http"));
  const owned = stack.move();
  return {
    url,
    requests: async () => requestsIn((await ask(`${url("http")}/count`)).body) / COUNTED_EACH,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

/** The third number below the heading: connections taken, connections handled, requests. */
function requestsIn(status: string): number {
  return Number(/^ \d+ \d+ (\d+) $/m.exec(status)?.[1]);
}
