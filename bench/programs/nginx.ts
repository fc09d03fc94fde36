import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../tools/stack/free-port.ts";
import { Program } from "../../tools/stack/program.ts";
import { endWithUs } from "./end-with-us.ts";
import { ask } from "../../test/support/http-ask.ts";
import type { Identity } from "../../test/support/certificates.ts";
import { COUNTED_EACH, nginxConfig } from "./nginx-config.ts";

export type Nginx = AsyncDisposable & {
  readonly httpUrl: string;
  readonly httpsUrl: string;
  /** How many requests it has been sent. */
  requests(): Promise<number>;
};

/** The upstream whose cost is no part of any figure: it answers after a known delay, and counts nothing. */
export async function startNginx(path: string, { certFile, keyFile }: Identity): Promise<Nginx> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-bench-nginx-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  // Where root starts it, its workers are nobody, and must reach the sockets in there.
  await chmod(folder, 0o755);
  const httpPort = await freePort();
  const httpsPort = await freePort();
  const file = join(folder, "nginx.conf");
  await writeFile(file, nginxConfig({ folder, httpPort, httpsPort, certFile, keyFile }));
  const args = ["-e", "stderr", "-p", folder, "-c", file];
  const program = stack.use(endWithUs(new Program(path, { args })));
  const httpUrl = `http://127.0.0.1:${httpPort}`;
  await program.ready(httpUrl);
  const owned = stack.move();
  return {
    httpUrl,
    httpsUrl: `https://127.0.0.1:${httpsPort}`,
    requests: async () => requestsIn((await ask(`${httpUrl}/count`)).body) / COUNTED_EACH,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The third number below the heading: connections taken, connections handled, requests. */
function requestsIn(status: string): number {
  return Number(/^ \d+ \d+ (\d+) $/m.exec(status)?.[1]);
}
