import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../tools/stack/free-port.ts";
import { Program } from "../../tools/stack/program.ts";
import { endWithUs } from "./end-with-us.ts";

/** A blackbox_exporter that asks as Pacewatch asks: the same headers, the same status; it has no JSON check to ask for. */
export class Blackbox implements AsyncDisposable {
  readonly #program: Program;
  readonly #folder: string;
  readonly url: string;

  private constructor(program: Program, folder: string, url: string) {
    this.#program = program;
    this.#folder = folder;
    this.url = url;
  }

  static async start(path: string, caFile: string): Promise<Blackbox> {
    const folder = await mkdtemp(join(tmpdir(), "pacewatch-bench-blackbox-"));
    const config = join(folder, "blackbox.yml");
    await writeFile(config, JSON.stringify({ modules: { bench: moduleOf(caFile) } }));
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${config}`, `--web.listen-address=${address}`];
    const program = endWithUs(new Program(path, { args }));
    const blackbox = new Blackbox(program, folder, `http://${address}`);
    try {
      await program.ready(`${blackbox.url}/-/healthy`);
    } catch (error) {
      await blackbox[Symbol.asyncDispose]();
      throw error;
    }
    return blackbox;
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** What the load asks for: the path but for the target's number, which is written at its end. */
  probePath(target: string): string {
    return `/probe?${new URLSearchParams({ module: "bench", target: `${target}/v1/resources?n=` }).toString()}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function moduleOf(caFile: string): object {
  return {
    prober: "http",
    timeout: "5s",
    http: {
      preferred_ip_protocol: "ip4",
      valid_status_codes: [200],
      headers: { Authorization: "Bearer test-key-bench", "Content-Type": "application/json" },
      tls_config: { ca_file: caFile },
    },
  };
}
