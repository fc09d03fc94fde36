import { readFileSync } from "node:fs";
import axe from "axe-core";
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { requireBinary } from "../processes/binaries.ts";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** Undefined where this machine has no Chromium. */
export const CHROMIUM: string | undefined = requireBinary("chromium");

export async function openBrowser(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('cannot open a browser: "chromium" must be on the PATH');
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** A page, and everything that its console and its content security policy had to say. */
export class WatchedPage implements AsyncDisposable {
  readonly page: Page;
  readonly complaints: string[] = [];
  readonly #context: BrowserContext;

  constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on("console", (message) => this.complaints.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("requestfailed", (request) => this.complaints.push(`failed: ${request.url()}`));
  }

  /** As a reader sees it. */
  text(): Promise<string> {
    return this.page.locator("body").innerText();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...options });
  const watched = new WatchedPage(context, await context.newPage());
  await watched.page.goto(url);
  return watched;
}

type AxeFinding = {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
};

/** What axe finds wrong, one line each. The page's policy lets no script in, so its context must bypass it. */
export async function accessibilityFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ readonly violations: readonly AxeFinding[] }>(
    "axe.run(document)",
  );
  return violations.map(
    ({ id, impact, nodes }) => `${impact ?? "?"} ${id}: ${nodes[0]?.html ?? ""} (${nodes.length})`,
  );
}

const LAYOUT = readFileSync(new URL("layout.mjs", import.meta.url), "utf8");

/** Text that another covers, or that leaves its box or the page, and plots without room: one line each. */
export function layoutFindings(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(LAYOUT);
}
