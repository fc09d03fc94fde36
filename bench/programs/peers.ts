import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../tools/stack/free-port.ts";
import { Program } from "../../tools/stack/program.ts";
import { endWithUs } from "./end-with-us.ts";

/** Another program that polls on a schedule of its own. bench/README.md says how it is built. */
export type Peer = {
  /** Its program on the PATH. */
  readonly program: string;
  readonly name: string;
  start(path: string, work: PeerWork): Promise<RunningPeer>;
};

export type PeerWork = {
  readonly url: (number: number) => string;
  readonly upstreams: number;
  readonly every: string;
  readonly caFile: string;
};

export type RunningPeer = AsyncDisposable & { readonly pid: number; readonly url: string };

const PATH = "/v1/resources";
const KEY = "Bearer test-key-bench";

const gatus: Peer = {
  program: "gatus",
  name: "Gatus",
  start: (path, { url, upstreams, every, caFile }) =>
    startPeer(path, caFile, (file, port) => {
      const config = {
        metrics: true,
        // Without a bound, as Pacewatch has none: five at a time, its default, would be late.
        concurrency: 0,
        web: { address: "127.0.0.1", port },
        endpoints: numbers(upstreams).map((number) => ({
          name: `api-${number}`,
          url: `${url(number)}${PATH}`,
          interval: every,
          // It would keep them.
          headers: { Authorization: KEY, Connection: "close" },
          conditions: ["[STATUS] == 200", "[BODY].resources[0].status == available"],
        })),
      };
      // JSON is YAML.
      const env = { GATUS_CONFIG_PATH: file, GATUS_LOG_LEVEL: "ERROR" };
      return { text: JSON.stringify(config), args: [], env };
    }),
};

const cloudprober: Peer = {
  program: "cloudprober",
  name: "Cloudprober",
  start: (path, { url, upstreams, every, caFile }) =>
    startPeer(path, caFile, (file, port) => {
      const probes = numbers(upstreams).map((number) => {
        const { protocol, hostname, port: targetPort } = new URL(url(number));
        const scheme = protocol === "https:" ? "HTTPS" : "HTTP";
        return `probe {
  name: "api-${number}"
  type: HTTP
  interval: "${every}"
  timeout: "${every}"
  targets { host_names: "${hostname}" }
  validator { name: "status" http_validator { success_status_codes: "200" } }
  http_probe { scheme: ${scheme} port: ${targetPort} relative_url: "${PATH}" header { key: "Authorization" value: "${KEY}" } }
}`;
      });
      const text = [`host: "127.0.0.1"`, `port: ${port}`, `surfacer { type: PROMETHEUS }`, ...probes].join(
        "\n",
      );
      return { text, args: [`--config_file=${file}`, "--cloud_metadata=none"], env: {} };
    }),
};

export const PEERS: readonly Peer[] = [gatus, cloudprober];

type Started = {
  readonly text: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

async function startPeer(
  path: string,
  caFile: string,
  configure: (file: string, port: number) => Started,
): Promise<RunningPeer> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-bench-peer-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  const file = join(folder, "config.cfg");
  const { text, args, env } = configure(file, port);
  await writeFile(file, text);
  // Both check certificates then.
  const program = stack.use(endWithUs(new Program(path, { args, env: { ...env, SSL_CERT_FILE: caFile } })));
  const url = `http://127.0.0.1:${port}`;
  await program.ready(`${url}/health`);
  const owned = stack.move();
  return { pid: program.pid, url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function numbers(many: number): readonly number[] {
  return Array.from({ length: many }, (_, number) => number);
}
