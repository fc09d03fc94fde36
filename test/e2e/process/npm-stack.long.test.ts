import { describe, expect, it } from "vitest";
import { requireBinary } from "../../support/processes/binaries.ts";
import { NpmScript, isListening } from "../../support/processes/npm.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");

describe.skipIf(prometheus === undefined || alertmanager === undefined)("npm run demo:stack", () => {
  it("ends with all that it started when npm is sent SIGTERM", async () => {
    await using script = new NpmScript(["run", "demo:stack"]);
    await script.said(/(Ctrl-C ends all of it)/);
    const pages = [...script.output.matchAll(/^ {2}(http:\/\/[\d.:]+)\//gm)].map(([, url = ""]) => url);
    expect(new Set(pages).size).toBeGreaterThanOrEqual(3);
    script.kill("SIGTERM");
    await script.exited;
    for (const url of pages) expect(await isListening(url)).toBe(false);
    await script.said(/(by its own count)/);
  });

  it("also while it is still starting", async () => {
    await using script = new NpmScript(["run", "demo:stack"]);
    const url = await script.said(/(http:\/\/127\.0\.0\.1:\d+)\/metrics/);
    script.kill("SIGTERM");
    await script.exited;
    expect(await isListening(url)).toBe(false);
  });
});
