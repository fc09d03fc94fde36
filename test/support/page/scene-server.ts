import { systemClock } from "../../../src/platform/clock.ts";
import {
  CALENDAR,
  type Columns,
  columnsOfPolls,
  type Range,
} from "../../../src/features/history/timeline.ts";
import { DAY_MS } from "../../../src/kernel/time/duration.ts";
import { BADGES } from "../../../src/features/badges/badge.ts";
import { reportPage } from "../../../src/features/report/page.ts";
import { reportRoutes } from "../../../src/features/report/route.ts";
import { startServer, type RunningServer } from "../../../src/http/server/server.ts";
import { sampleConfig, sampleUpstream } from "../kernel-samples.ts";
import { sampleRoutesDeps, statusOf, type StatusLists } from "../samples.ts";
import { olderDays, SCENES } from "./page-scenes.ts";
import { reportScene } from "./report-scene.ts";

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
    const { web, ...config } = sampleConfig({ state: { path: "unused" } });
    const deps = sampleRoutesDeps({
      status: () => statusOf(shown()),
      columns: (upstream, range) => Promise.resolve(columnsInFile(shown(), upstream, range)),
      config: () => {
        const upstreams = shown().upstreams.map(({ name }) => sampleUpstream({ name }));
        return { ...config, upstreams, web: { ...web, badges: true } };
      },
    });
    const reports = reportRoutes(deps, (request) => Promise.resolve(reportPage(reportScene(request))));
    const opened = await startServer({
      ...deps,
      features: [reports, ...deps.features],
      host: "127.0.0.1",
      port: 0,
      webConfig: undefined,
      clock: systemClock,
      onWebConfigChange: () => {},
      connectionsLeft: () => Infinity,
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

  /** The badges of all upstreams in all scenes, within one page. */
  async badges(): Promise<string> {
    const rows: string[] = [];
    for (const [scene, { upstreams }] of Object.entries(SCENES)) {
      for (const { name } of upstreams) {
        const badges = BADGES.map(async (badge) => {
          const answer = await fetch(this.show(scene, `badge/${name}.svg?show=${badge}`));
          return `<td>${await answer.text()}</td>`;
        });
        rows.push(`<tr>${(await Promise.all(badges)).join("")}</tr>`);
      }
    }
    return `<meta name="color-scheme" content="light dark"><table>${rows.join("")}</table>`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

/** The single polls of the last day, and the days of the calendar. */
function columnsInFile(
  { polls, histories, nowMs }: StatusLists,
  upstream: string,
  range: Range,
): Columns | undefined {
  const { columnMs } = range;
  const known = polls?.[upstream];
  if (known === undefined) return undefined;
  if (range === CALENDAR && known.length > 0) {
    const newest = histories?.[upstream]?.columns(range, nowMs).columns ?? [];
    return { columnMs, columns: [...olderDays(upstream), ...newest], areQuantiles: false };
  }
  if (range.lengthMs > DAY_MS) return undefined;
  return { columnMs, columns: columnsOfPolls(known, columnMs), areQuantiles: true };
}
