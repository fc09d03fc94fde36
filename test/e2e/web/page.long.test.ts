import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Fault } from "../../../src/simulator/faults.ts";
import { xRatelimit } from "../../../src/simulator/dialects.ts";
import { startSimulatedUpstream, type SimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { accessibilityFindings, CHROMIUM, openBrowser, openPage } from "../../support/page/browser.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon, type Daemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { answer, openRawUpstream, type RawUpstream } from "../../support/raw-upstream.ts";

/**
 * The real daemon, watching an upstream for each state that there is, looked at with a real browser.
 */

const FOREVER = { fromMs: 0, untilMs: Number.POSITIVE_INFINITY };
const FAILS_TIMES = 3;
const PATIENCE_MS = 90_000;

const MARKUP = `"><script>globalThis.pwned = 1</script><img src=x onerror="globalThis.pwned = 1">`;
const REVERSED = "\u202eevil\u2066";
const CONTROLS = "\u0000\u0007\u001b[31m";
const HOSTILE = `${MARKUP}${REVERSED}${CONTROLS}`;
const MEGABYTE = 1_048_576;

function simulated(name: string, fault: Fault): Promise<SimulatedUpstream> {
  return startSimulatedUpstream({
    name,
    limits: [{ requests: 1_000, perMs: 60_000 }],
    dialect: xRatelimit,
    script: { periodMs: Number.POSITIVE_INFINITY, entries: [{ ...FOREVER, fault, words: "" }] },
  });
}

/** Answers each connection, by its number, with these bytes. */
function scripted(bytesOf: (index: number) => string): Promise<RawUpstream> {
  return openRawUpstream(async (connection) => {
    await connection.request();
    connection.end(bytesOf(connection.index));
  });
}

const BUSY = answer('{"title":"busy"}', ["Retry-Reason: test"], "500 Busy");

const STATES = {
  well: "up",
  recovered: "up",
  slow: "degraded",
  limited: "throttled",
  locked: "unauthorized",
  broken: "down",
  hanging: "down",
  unlooked: "unknown",
  "hostile-text": "down",
  "hostile-body": "down",
  "hostile-phrase": "down",
} as const;

const ROOMY = { rate: { requests: 100, per: "1s" }, share: "20%" };
const BUDGETS = {
  api: ROOMY,
  limited: ROOMY,
  // As nothing fits beside what a former life may have sent, it waits for a whole hour first.
  unlooked: { rate: { requests: 10_000, per: "1h" }, share: "100%" },
};

async function watchEverything(stack: AsyncDisposableStack): Promise<Daemon> {
  const open = async (
    name: keyof typeof STATES,
    upstream: Promise<SimulatedUpstream | RawUpstream>,
    changes: object = {},
  ) => {
    const opened = await upstream;
    stack.defer(() => opened.close());
    // Patient, as this machine may be busy with other things.
    return rawUpstream(name, opened.url, { timeout: "10s", labels: { team: "growth" }, ...changes });
  };
  const upstreams = [
    await open("well", simulated("well", { kind: "none" })),
    await open(
      "recovered",
      scripted((index) => (index < FAILS_TIMES ? BUSY : answer("{}"))),
    ),
    await open("slow", simulated("slow", { kind: "slow", delayMs: 400 }), { degraded_above: "200ms" }),
    await open("limited", simulated("limited", { kind: "throttle", retryAfter: "600" }), {
      budget: "limited",
    }),
    await open("locked", simulated("locked", { kind: "unauthorized" })),
    await open("broken", simulated("broken", { kind: "status", code: 503, headers: { "X-Why": "test" } })),
    await open("hanging", simulated("hanging", { kind: "hang", at: "before_head" }), { timeout: "500ms" }),
    await open("unlooked", simulated("unlooked", { kind: "none" }), { budget: "unlooked" }),
    await open(
      "hostile-text",
      scripted(() => answer(HOSTILE)),
    ),
    await open(
      "hostile-body",
      scripted(() => answer(HOSTILE, ["X-Hostile: <b>"], "500 Broken")),
    ),
    await open(
      "hostile-phrase",
      scripted(() => answer("{}", [], `500 ${MARKUP.padEnd(MEGABYTE, "x")}`)),
    ),
  ];
  const config = stack.use(await openConfigFolder({ budgets: BUDGETS, upstreams }));
  return stack.use(await startDaemon({ configPath: config.path }));
}

async function everyStateIsThere(daemon: Daemon): Promise<void> {
  const look = async (): Promise<object> => {
    const { upstreams, incidents } = JSON.parse((await daemon.get("/api/v1/upstreams")).body) as {
      readonly upstreams: readonly {
        readonly name: string;
        readonly health: { readonly state: string };
        readonly skippedSincePoll: readonly object[];
      }[];
      readonly incidents: readonly { readonly endedAtMs?: number }[];
    };
    const states = Object.fromEntries(upstreams.map(({ name, health }) => [name, health.state]));
    const isBlind = upstreams.some(
      ({ name, skippedSincePoll }) => name === "unlooked" && skippedSincePoll.length > 0,
    );
    const isOver = incidents.some(({ endedAtMs }) => endedAtMs !== undefined);
    return { isBlind, isOver, states };
  };
  const wanted = JSON.stringify({ isBlind: true, isOver: true, states: STATES });
  await eventually("every state is there", look, (seen) => JSON.stringify(seen) === wanted);
}

describe.skipIf(CHROMIUM === undefined)("the pages in a browser", { timeout: PATIENCE_MS }, () => {
  const stack = new AsyncDisposableStack();
  let browser: Browser;
  let daemon: Daemon;

  beforeAll(async () => {
    browser = await openBrowser();
    stack.defer(() => browser.close());
    daemon = await watchEverything(stack);
    await everyStateIsThere(daemon);
  }, PATIENCE_MS);

  afterAll(() => stack.disposeAsync());

  const PATHS = ["/", ...Object.keys(STATES).map((name) => `/upstreams/${name}`)];

  test("no page makes the console or the content security policy say a word, not even full of hostile text", async () => {
    await using watched = await openPage(browser, `${daemon.url}/?refresh=off`);
    for (const path of PATHS) {
      await watched.page.goto(`${daemon.url}${path}?refresh=off`);
      expect({ path, complaints: watched.complaints }).toEqual({ path, complaints: [] });
    }
    // The same means do notice what the policy forbids.
    await watched.page.evaluate("document.body.setAttribute('style', 'color: red')");
    await eventually("the browser complains", () => watched.complaints.length);
    expect(watched.complaints.join()).toContain("Content Security Policy");
  });

  test("hostile text is there to be read, and does nothing", async () => {
    await using watched = await openPage(browser, `${daemon.url}/?refresh=off`);
    const { page } = watched;
    for (const path of [
      "/",
      "/upstreams/hostile-text",
      "/upstreams/hostile-body",
      "/upstreams/hostile-phrase",
    ]) {
      await page.goto(`${daemon.url}${path}?refresh=off`);
      const found = await page.evaluate<{
        readonly elements: number;
        readonly pwned: boolean;
        readonly text: string;
      }>(`({
        elements: document.querySelectorAll("script, img, iframe, object, b b").length,
        pwned: "pwned" in globalThis,
        text: document.documentElement.textContent,
      })`);
      expect({ path, ...found }).toMatchObject({ path, elements: 0, pwned: false });
      // Neither what turns the line around, nor what no text should hold.
      expect(found.text).not.toMatch(/\p{Bidi_Control}|(?![\n\t])\p{Cc}/u);
      expect(found.text.length).toBeLessThan(MEGABYTE / 4);
    }
    await page.goto(`${daemon.url}/upstreams/hostile-body?refresh=off`);
    const text = await watched.text();
    expect(text).toContain("<script>globalThis.pwned = 1</script>");
    expect(text).toContain("\\u202eevil");
    expect(text).toContain("\\u0000\\u0007\\u001b[31m");
    expect(text).toMatch(/x-hostile 3 B/);
  });

  test.each([
    ["light", 1_280, ["/"]],
    ["dark", 1_280, ["/"]],
    ["light", 390, ["/upstreams/broken", "/upstreams/nobody"]],
    ["dark", 390, ["/upstreams/hostile-text", "/upstreams/unlooked"]],
  ] as const)(
    "axe finds nothing, in %s at %d pixels, and nothing is cut off at the side",
    async (colorScheme, width, paths) => {
      const options = { colorScheme, viewport: { width, height: 800 }, bypassCSP: true };
      await using watched = await openPage(browser, `${daemon.url}/?refresh=off`, options);
      for (const path of paths) {
        await watched.page.goto(`${daemon.url}${path}?refresh=off`);
        expect({ path, findings: await accessibilityFindings(watched.page) }).toEqual({ path, findings: [] });
        expect(await watched.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
          width,
        );
      }
    },
  );

  test("each state is said in words, with whose trouble it is and why; the sickest come first", async () => {
    await using watched = await openPage(browser, `${daemon.url}/?refresh=off`);
    const { page } = watched;
    const names = await page.locator("h3 a").allInnerTexts();
    const ranks = names.map((name) => Object.entries(STATES).find(([each]) => each === name)?.[1]);
    expect([...new Set(ranks)]).toEqual(["down", "unauthorized", "unknown", "throttled", "degraded", "up"]);
    const card = async (name: string): Promise<string> =>
      (
        await page
          .locator("li.upstream")
          .filter({ has: page.getByRole("link", { name, exact: true }) })
          .innerText()
      ).replaceAll(/\s+/g, " ");
    expect(await card("hanging")).toMatch(
      /Down for .* It is them\. .*\d+ polls timed out after [\d.]+ m?s.* has answered since/,
    );
    expect(await card("broken")).toMatch(/It is them\. .*\d+ polls got 503\b/);
    expect(await card("locked")).toMatch(
      /Rejects our key for .* Our key is the cause\. .*\d+ polls got 401\b/,
    );
    expect(await card("limited")).toMatch(
      /Throttling us for .* A limit is the cause\. .*got 429\b.* paused for another \d+ min\b/,
    );
    expect(await card("slow")).toMatch(/Up, but slow for .* 200 ms, .*up to [\d.]+ m?s\b/);
    expect(await card("unlooked")).toMatch(
      /Unknown for .* It is us\. \d+ slots? .*skipped since the start: (?:\d+ because )?our share/,
    );
    expect(await card("recovered")).toMatch(/Up for .*; the one before.* got 500\b/);
    expect(await card("well")).toMatch(/Up for .* objective 99\.5 % .* 1 h 100 % .*all of it ok/);
    expect(await page.locator("li.budget").filter({ hasText: "limited" }).innerText()).toMatch(
      /Paused: .* in (9 min|8 min \d+ s)/,
    );
    expect(await page.locator(".incidents > li").filter({ hasText: "recovered" }).innerText()).toMatch(
      /Down: server error/,
    );
  });

  test("what a failure looked like is still on its page after it is over", async () => {
    await using watched = await openPage(browser, `${daemon.url}/?refresh=off`);
    await watched.page.getByRole("link", { name: "recovered", exact: true }).first().click();
    expect(new URL(watched.page.url()).pathname).toBe("/upstreams/recovered");
    const text = (await watched.text()).replaceAll(/\s+/g, " ");
    expect(text).toMatch(/Last failures .* server error, 500/i);
    expect(text).toMatch(
      /Detail answered 500 Phases .* Headers content-length 2 B retry-reason 4 B Body \{"title":"busy"\}/,
    );
  });

  test("the page becomes a fresh one by itself, and stays where it was scrolled to", async () => {
    await using watched = await openPage(browser, daemon.url, { viewport: { width: 390, height: 700 } });
    const { page } = watched;
    const clock = page.locator(".clock time");
    const loadedAt = await clock.getAttribute("datetime");
    const heading = page.getByRole("heading", { name: "locked" });
    // Not by the top of the page: what is above may have become a line longer.
    const placeOf = (): Promise<number> => heading.evaluate((element) => element.getBoundingClientRect().top);
    await heading.evaluate((element) => element.scrollIntoView());
    const before = { scrolled: await page.evaluate<number>("scrollY"), place: await placeOf() };
    await page.waitForEvent("load");
    expect(await clock.getAttribute("datetime")).not.toBe(loadedAt);
    await eventually(
      "the fresh page is scrolled to its place",
      () => page.evaluate<number>("scrollY"),
      (scrolled) => scrolled > 0,
    );
    expect(before.scrolled).toBeGreaterThan(1_000);
    expect(Math.abs((await placeOf()) - before.place)).toBeLessThan(60);
    expect(watched.complaints).toEqual([]);
  });
});
