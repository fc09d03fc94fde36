import { GzipParts } from "../src/adapters/gzip-parts.ts";
import { systemClock } from "../src/adapters/clock.ts";
import type { Opened } from "../src/core/config/opened.ts";
import { Thread } from "../src/adapters/thread.ts";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer, type RunningServer } from "../src/http/server/server.ts";
import type { Status } from "../src/core/status/status.ts";
import { openBrowser, openPage } from "../test/support/page/browser.ts";
import { statusOf } from "../test/support/samples.ts";
import { SCENES } from "../test/support/page/page-scenes.ts";

/** Pictures of the status page: two for the README, and a gallery of every scene to look at. */

type Picture = {
  readonly file: string;
  readonly scene: string;
  readonly scheme: "light" | "dark";
  readonly width: number;
  readonly path?: string;
  /** The whole page without it. */
  readonly height?: number;
};

const IMAGES = fileURLToPath(new URL("../docs/images", import.meta.url));
const GALLERY = join(tmpdir(), "pacewatch-screenshots");
const DESKTOP = 1200;
const PHONE = 390;

const PICTURES: readonly Picture[] = [
  {
    file: join(IMAGES, "status-page-light.png"),
    scene: "down",
    scheme: "light",
    width: DESKTOP,
    height: 1020,
  },
  { file: join(IMAGES, "status-page-dark.png"), scene: "down", scheme: "dark", width: DESKTOP, height: 1020 },
  ...Object.keys(SCENES).flatMap((scene) =>
    (["light", "dark"] as const).flatMap((scheme) =>
      [DESKTOP, PHONE].map((width) => ({
        file: inGallery(`${scene}-${scheme}-${width}`),
        scene,
        scheme,
        width,
      })),
    ),
  ),
  ...["down", "well", "new"].flatMap((scene) =>
    [DESKTOP, PHONE].map((width) => ({
      file: inGallery(`upstream-${scene}-${width}`),
      scene,
      scheme: "light" as const,
      width,
      path: "upstreams/ai-router",
    })),
  ),
];

function inGallery(name: string): string {
  return join(GALLERY, `${name}.png`);
}

let shown: Status | undefined;

function serve(): Promise<Opened<RunningServer>> {
  return startServer({
    host: "127.0.0.1",
    port: 0,
    webConfig: undefined,
    clock: systemClock,
    threadOf: (thread) => new Thread(thread),
    onWarning: (message) => process.stderr.write(`${message}\n`),
    status: () => {
      if (shown === undefined) throw new Error("cannot show a page: no scene was chosen");
      return shown;
    },
    fleet: () => Promise.resolve(undefined),
    metrics: () => ({ pieces: [] }),
    gzip: () => new GzipParts(),
    resume: () => true,
    reload: () => Promise.resolve({ kind: "reloaded" }),
    config: () => ({}),
    lifecycleEnabled: () => false,
    ready: () => true,
  });
}

const server = await serve();
if (server.kind === "refused") throw new Error(server.faults.join("\n"));
await using running = server.what;
await using browser = await openBrowser();
await Promise.all([mkdir(IMAGES, { recursive: true }), mkdir(GALLERY, { recursive: true })]);
for (const { file, scene, scheme, width, path = "", height } of PICTURES) {
  const lists = SCENES[scene];
  shown = lists && statusOf(lists);
  const viewport = { width, height: height ?? 900 };
  await using watched = await openPage(browser, `${running.url}/${path}`, { colorScheme: scheme, viewport });
  await watched.page.screenshot({ path: file, fullPage: height === undefined });
  process.stdout.write(`${file}\n`);
}
