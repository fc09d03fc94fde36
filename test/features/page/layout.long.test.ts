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
import { PAPER_PX, REPORT_PATH } from "../../support/page/report-scene.ts";
import { SceneServer } from "../../support/page/scene-server.ts";

/** Where most words stand in the least room; none loads itself again while it is looked at. */
const PATHS = [
  "?range=7d&refresh=off",
  "upstreams/ai-router?range=24h&refresh=off",
  "upstreams/ai-router?range=7d&refresh=off",
];
const WITHOUT_UPSTREAMS = /^(?:empty|standby)/;
const WIDTHS = [390, 768, 1_280];
/** The width of a letter that a browser draws, by how much it is stretched or pressed in a badge; and whether it is cut. */
const BADGE_TEXTS = `[...document.querySelectorAll("text")].map((text) => {
  const { x, width } = text.getBBox();
  const right = text.ownerSVGElement.width.baseVal.value;
  text.removeAttribute("textLength");
  return { words: text.textContent, isCut: x < 0 || x + width > right, stretch: width / text.getComputedTextLength() };
})`;

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
      for (const path of WITHOUT_UPSTREAMS.test(scene) ? PATHS.slice(0, 1) : PATHS) {
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

    test("of a report are read on every screen and on paper, without a script", async () => {
      const faults: string[] = [];
      await using watched = await openPage(browser, scenes.show("outage", REPORT_PATH));
      const { page } = watched;
      for (const [width, media] of [
        ...WIDTHS.map((each) => [each, "screen"] as const),
        [PAPER_PX, "print"] as const,
      ]) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ media });
        const found = await layoutFindings(page);
        faults.push(...found.map((fault) => `${media}, ${width} px: ${fault}`));
      }
      expect([...faults, ...watched.complaints]).toEqual([]);
    });

    test("have a calendar whose days are reached and seen by keyboard", async () => {
      await using watched = await openPage(browser, scenes.show("holes", "upstreams/ai-router?refresh=off"));
      const { page } = watched;
      const days = page.locator(".calendar a");
      expect(await days.count()).toBeGreaterThan(5);
      await days.first().focus();
      await page.keyboard.press("Tab");
      const seen = await page.evaluate<{ readonly label: string | null; readonly outline: string }>(
        `({ label: document.activeElement.getAttribute("aria-label"), outline: getComputedStyle(document.activeElement).outlineStyle })`,
      );
      expect(seen).toEqual({ label: await days.nth(1).getAttribute("aria-label"), outline: "solid" });
    });

    test("show badges whose letters keep their shape and are not cut", async () => {
      await using watched = await openPage(browser, "about:blank");
      await watched.page.setContent(await scenes.badges());
      const texts =
        await watched.page.evaluate<
          readonly { readonly words: string; readonly isCut: boolean; readonly stretch: number }[]
        >(BADGE_TEXTS);
      expect(texts.length).toBeGreaterThan(100);
      const bad = texts.filter(({ isCut, stretch }) => isCut || stretch < 0.85 || stretch > 1.2);
      expect(bad).toEqual([]);
    });

    test.each(["light", "dark"] as const)(
      "can be used without eyes and without colours: %s",
      async (colorScheme) => {
        for (const path of [...PATHS.slice(0, 2), REPORT_PATH]) {
          const options = { bypassCSP: true, colorScheme };
          await using watched = await openPage(browser, scenes.show("outage", path), options);
          expect(await accessibilityFindings(watched.page)).toEqual([]);
        }
      },
    );

    test("find what overlaps, and what leaves its box", async () => {
      await using watched = await openPage(browser, scenes.show("well", "?refresh=off"), { bypassCSP: true });
      const content = ".times { margin-top: -2rem } .legend { width: 4rem; white-space: nowrap }";
      await watched.page.addStyleTag({ content: `${content} .rows { margin-top: -2rem }` });
      const found = await layoutFindings(watched.page);
      expect(found).toContainEqual(expect.stringContaining("leaves its box"));
      expect(found).toContainEqual(expect.stringContaining("overlap"));
    });
  },
);
