import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { UpstreamFacts } from "../../../src/features/status/status.ts";
import { type ConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import type { Daemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleValue } from "../../support/metrics/exposition-parser.ts";
import type { Incident } from "../../../src/features/history/incidents.ts";

/** Answers well, or not at all well; counts what arrived. */
export class Api implements AsyncDisposable {
  requests = 0;
  isWell = true;
  readonly #server = createServer((_, response) => {
    this.requests += 1;
    response.writeHead(this.isWell ? 200 : 503, {
      "Content-Type": "application/json",
      "X-Session": "test-session",
    });
    response.end(this.isWell ? "{}" : '{"error":"we are sorry"}');
  });

  static async open(): Promise<Api> {
    const api = new Api();
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

export function configOf(url: string, path = "data/pacewatch.db", quota?: object): RawConfig {
  const budget = { rate: { requests: 10, per: "1s" }, share: "10%" };
  return {
    state: { path },
    budgets: { api: quota === undefined ? budget : { ...budget, quota } },
    upstreams: [rawUpstream("email", url)],
  };
}

export type Detail = { readonly upstream: UpstreamFacts; readonly incidents: readonly Incident[] };

export async function detailOf(daemon: Daemon): Promise<Detail> {
  return JSON.parse((await daemon.get("/api/v1/upstreams/email")).body) as Detail;
}

export async function valueOf(daemon: Daemon, metric: string, labels = {}): Promise<number | undefined> {
  return sampleValue(await daemon.metrics(), metric, labels);
}

export async function polled(daemon: Daemon, count: number): Promise<Detail> {
  return eventually(
    `${count} polls have ended`,
    () => detailOf(daemon),
    ({ upstream }) => upstream.lastPolls.length >= count,
  );
}

export function stateFileOf(folder: ConfigFolder): string {
  return join(folder.folder, "data", "pacewatch.db");
}
