import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseExposition, sampleValue, type Families } from "../../test/support/metrics/exposition-parser.ts";
import { freePort } from "../stack/free-port.ts";
import { Program } from "../stack/program.ts";

export type Probing = {
  readonly url: string;
  readonly timeoutMs: number;
  /** What the body is encoded with. The exporter must be told beforehand: it does not look. */
  readonly compression?: "gzip" | "br";
};

/** It is told all that Pacewatch is told, as far as it has settings for that. */
function modulesOf(caFile: string): object {
  const http = {
    preferred_ip_protocol: "ip4",
    valid_http_versions: ["HTTP/1.0", "HTTP/1.1"],
    valid_status_codes: [200],
    body_size_limit: "1MB",
    headers: { Accept: "application/json" },
    fail_if_body_not_matches_regexp: [String.raw`^\x{FEFF}?\s*[\[{]`],
    tls_config: { ca_file: caFile },
  };
  const module = (more: object): object => ({ prober: "http", timeout: "60s", http: { ...http, ...more } });
  return {
    modules: { plain: module({}), gzip: module({ compression: "gzip" }), br: module({ compression: "br" }) },
  };
}

/** A blackbox_exporter of our own, on a free port. */
export class Blackbox implements AsyncDisposable {
  readonly #program: Program;
  readonly #address: string;
  readonly #folder: string;

  private constructor(program: Program, address: string, folder: string) {
    this.#program = program;
    this.#address = address;
    this.#folder = folder;
  }

  static async start(path: string, caFile: string): Promise<Blackbox> {
    const folder = await mkdtemp(join(tmpdir(), "pacewatch-blackbox-"));
    const config = join(folder, "blackbox.yml");
    await writeFile(config, JSON.stringify(modulesOf(caFile)));
    const address = `127.0.0.1:${await freePort()}`;
    const program = new Program(path, {
      args: [`--config.file=${config}`, `--web.listen-address=${address}`, "--timeout-offset=0"],
    });
    const blackbox = new Blackbox(program, address, folder);
    await program.ready(`http://${address}/-/healthy`);
    return blackbox;
  }

  /** The revision that it names when it starts. */
  get version(): string {
    return /revision=([^,)]+)/.exec(this.#program.output)?.[1] ?? "of an unknown version";
  }

  /** What its metrics say of one probe. */
  async probe({ url, timeoutMs, compression }: Probing): Promise<string> {
    const query = new URLSearchParams({ target: url, module: compression ?? "plain" });
    const answer = await fetch(`http://${this.#address}/probe?${query.toString()}`, {
      headers: { "X-Prometheus-Scrape-Timeout-Seconds": String(timeoutMs / 1_000) },
    });
    return summaryOf(parseExposition(await answer.text()), timeoutMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function summaryOf(families: Families, timeoutMs: number): string {
  const told = (name: string): number => sampleValue(families, name) ?? 0;
  const redirects = told("probe_http_redirects");
  return [
    String(told("probe_success")),
    `status ${told("probe_http_status_code")}`,
    ...(redirects > 0 ? [`${redirects} ${redirects === 1 ? "redirect" : "redirects"}`] : []),
    ...(told("probe_failed_due_to_regex") === 1 ? ["regexp"] : []),
    ...(told("probe_duration_seconds") * 1_000 >= timeoutMs * 0.98 ? ["timeout"] : []),
  ].join(", ");
}
