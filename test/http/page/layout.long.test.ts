import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityFindings,
  CHROMIUM,
  layoutFindings,
  openBrowser,
  openPage,
} from "../../support/page/browser.ts";
import { SCENES } from "../../support/page/page-scenes.ts";
import { SceneServer } from "../../support/page/scene-server.ts";

/** Where most words stand in the least room. */
const PATHS = ["?range=7d", "upstreams/ai-router?range=24h", "upstreams/ai-router?range=7d"];
const WIDTHS = [390, 768, 1_280];

describe.skipIf(CHROMIUM === undefined)(
  "the pages, on a phone, a tablet and a desktop, by day and by night",
  () => {
    const stack = new AsyncDisposableStack();
    let browser: Browser;
    let scenes: SceneServer;

    beforeAll(async () => {
      browser = stack.use(await openBrowser());
      scenes = stack.use(await SceneServer.start());
    });

    afterAll(() => stack.disposeAsync());

    test.each(Object.keys(SCENES))("have no text over another or outside its box: %s", async (scene) => {
      const faults: string[] = [];
      for (const path of scene === "empty" ? PATHS.slice(0, 1) : PATHS) {
        await using watched = await openPage(browser, scenes.show(scene, path));
        const { page } = watched;
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme });
            const found = await layoutFindings(page);
            faults.push(...found.map((fault) => `/${path}, ${width} px, ${colorScheme}: ${fault}`));
          }
        }
        faults.push(...watched.complaints);
      }
      expect(faults).toEqual([]);
    });

    test.each(["light", "dark"] as const)(
      "can be used without eyes and without colours: %s",
      async (colorScheme) => {
        for (const path of PATHS.slice(0, 2)) {
          const options = { bypassCSP: true, colorScheme };
          await using watched = await openPage(browser, scenes.show("outage", path), options);
          expect(await accessibilityFindings(watched.page)).toEqual([]);
        }
      },
    );

    test("find what overlaps, and what leaves its box", async () => {
      await using watched = await openPage(browser, scenes.show("well", ""), { bypassCSP: true });
      const content = ".times { margin-top: -2rem } .legend { width: 4rem; white-space: nowrap }";
      await watched.page.addStyleTag({ content: `${content} .rows { margin-top: -2rem }` });
      const found = await layoutFindings(watched.page);
      expect(found).toContainEqual(expect.stringContaining("leaves its box"));
      expect(found).toContainEqual(expect.stringContaining("overlap"));
    });
  },
);
