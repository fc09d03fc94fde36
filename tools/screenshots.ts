import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { openBrowser, openPage } from "../test/support/page/browser.ts";
import { SCENES } from "../test/support/page/page-scenes.ts";
import { PAPER_PX, REPORT_PATH } from "../test/support/page/report-scene.ts";
import { SceneServer } from "../test/support/page/scene-server.ts";

/**
 * Pictures of the status page: two for the README, and a gallery of every scene to look at. Of all files, those whose name
 * contains the first argument, if there is one.
 */

type Picture = {
  readonly file: string;
  readonly scene: string;
  readonly scheme: "light" | "dark";
  readonly width: number;
  readonly path?: string;
  /** The whole page without it. */
  readonly height?: number;
  readonly isPrinted?: boolean;
};

const IMAGES = fileURLToPath(new URL("../docs/images", import.meta.url));
const GALLERY = join(tmpdir(), "pacewatch-screenshots");
const DESKTOP = 1200;
const PHONE = 390;

const PICTURES: readonly Picture[] = [
  {
    file: join(IMAGES, "status-page-light.webp"),
    scene: "down",
    scheme: "light",
    width: DESKTOP,
    height: 1130,
  },
  {
    file: join(IMAGES, "status-page-dark.webp"),
    scene: "down",
    scheme: "dark",
    width: DESKTOP,
    height: 1130,
  },
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
  ...["down", "well", "new", "one-poll", "outage", "flapping", "holes"].flatMap((scene) =>
    ["1h", "24h", "7d", "30d"].flatMap((range) =>
      [DESKTOP, PHONE].map((width) => ({
        file: inGallery(`upstream-${scene}-${range}-${width}`),
        scene,
        scheme: range === "24h" ? ("dark" as const) : ("light" as const),
        width,
        path: `upstreams/ai-router?range=${range}`,
      })),
    ),
  ),
  ...(["light", "dark"] as const).flatMap((scheme) =>
    [DESKTOP, PHONE].map((width) => ({
      file: inGallery(`report-${scheme}-${width}`),
      scene: "outage",
      scheme,
      width,
      path: REPORT_PATH,
    })),
  ),
  {
    file: inGallery("report-printed"),
    scene: "outage",
    scheme: "dark",
    width: PAPER_PX,
    path: REPORT_PATH,
    isPrinted: true,
  },
];

function inGallery(name: string): string {
  return join(GALLERY, `${name}.png`);
}

/** A third of a PNG: these are in the package. */
async function asWebp(page: Page): Promise<Buffer> {
  const browser = await page.context().newCDPSession(page);
  const { data } = await browser.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  return Buffer.from(data, "base64");
}

await using scenes = await SceneServer.start();
await using browser = await openBrowser();
await Promise.all([mkdir(IMAGES, { recursive: true }), mkdir(GALLERY, { recursive: true })]);
for (const { file, scene, scheme, width, path = "", height, isPrinted = false } of PICTURES) {
  if (!file.includes(process.argv[2] ?? "")) continue;
  const viewport = { width, height: height ?? 900 };
  await using watched = await openPage(browser, scenes.show(scene, path), { colorScheme: scheme, viewport });
  if (isPrinted) await watched.page.emulateMedia({ media: "print" });
  if (file.endsWith(".webp")) await writeFile(file, await asWebp(watched.page));
  else await watched.page.screenshot({ path: file, fullPage: height === undefined });
  process.stdout.write(`${file}\n`);
}
for (const scheme of ["light", "dark"] as const) {
  const file = inGallery(`badges-${scheme}`);
  if (!file.includes(process.argv[2] ?? "")) continue;
  await using watched = await openPage(browser, "about:blank", { colorScheme: scheme });
  await watched.page.setContent(await scenes.badges());
  await watched.page.screenshot({ path: file, fullPage: true });
  process.stdout.write(`${file}\n`);
}
