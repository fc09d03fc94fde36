import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";

const Notification = z.object({
  alerts: z.array(
    z.object({
      status: z.enum(["firing", "resolved"]),
      labels: z.record(z.string(), z.string()),
      annotations: z.record(z.string(), z.string()),
      startsAt: z.coerce.date(),
    }),
  ),
});

export type Told = {
  /** Wall clock: when Prometheus saw it, and when this was told. */
  readonly startedAtMs: number;
  readonly toldAtMs: number;
  readonly status: "firing" | "resolved";
  readonly alert: string;
  /** Empty where the alert is not about one. */
  readonly upstream: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

/** Somebody with a pager: what Alertmanager says, as it comes. */
export class Webhook implements AsyncDisposable {
  readonly told: Told[] = [];
  readonly #server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      this.#hear(body);
      response.end();
    });
  });

  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    const { port } = z.object({ port: z.number() }).parse(this.#server.address());
    return `http://127.0.0.1:${port}/`;
  }

  find(status: Told["status"], alert: string, upstream = ""): Told | undefined {
    return this.told.find(
      (told) => told.status === status && told.alert === alert && told.upstream === upstream,
    );
  }

  /** What fired since the last time that somebody asked, each once. */
  takeFired(): readonly string[] {
    const fired = this.told.splice(0).filter(({ status }) => status === "firing");
    return [...new Set(fired.map(({ alert, upstream }) => `${alert} ${upstream}`.trim()))].sort();
  }

  #hear(body: string): void {
    const { alerts } = Notification.parse(JSON.parse(body));
    for (const { status, labels, annotations, startsAt } of alerts) {
      this.told.push({
        startedAtMs: startsAt.getTime(),
        toldAtMs: Date.now(),
        status,
        alert: labels["alertname"] ?? "",
        upstream: labels["upstream"] ?? "",
        description: annotations["description"] ?? "",
        labels,
        annotations,
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
