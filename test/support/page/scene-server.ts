import { systemClock } from "../../../src/adapters/clock.ts";
import { Thread } from "../../../src/adapters/thread.ts";
import { columnsOfPolls } from "../../../src/core/status/timeline.ts";
import { startServer, type RunningServer } from "../../../src/http/server/server.ts";
import { sampleRoutesDeps, statusOf, type StatusLists } from "../samples.ts";
import { SCENES } from "./page-scenes.ts";

/** The pages of one scene at a time, as a browser gets them. */
export class SceneServer implements AsyncDisposable {
  readonly #server: RunningServer;
  readonly #choose: (scene: string) => void;

  private constructor(server: RunningServer, choose: (scene: string) => void) {
    this.#server = server;
    this.#choose = choose;
  }

  static async start(): Promise<SceneServer> {
    let chosen: string | undefined;
    const shown = (): StatusLists => {
      const scene = SCENES[chosen ?? ""];
      if (scene === undefined) throw new Error("cannot show a page: no scene was chosen");
      return scene;
    };
    const opened = await startServer({
      ...sampleRoutesDeps({
        status: () => statusOf(shown()),
        columns: (upstream, { columnMs, lengthMs }) => {
          const polls = lengthMs > DAY_MS ? undefined : shown().polls?.[upstream];
          return Promise.resolve(
            polls && { columnMs, columns: columnsOfPolls(polls, columnMs), areQuantiles: true },
          );
        },
      }),
      host: "127.0.0.1",
      port: 0,
      webConfig: undefined,
      clock: systemClock,
      threadOf: (thread) => new Thread(thread),
      onWarning: (message) => process.stderr.write(`${message}\n`),
    });
    if (opened.kind === "refused") throw new Error(opened.faults.join("\n"));
    return new SceneServer(opened.what, (scene) => (chosen = scene));
  }

  /** The address of a page of that scene. */
  show(scene: string, path: string): string {
    this.#choose(scene);
    return `${this.#server.url}/${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

const DAY_MS = 86_400_000;
