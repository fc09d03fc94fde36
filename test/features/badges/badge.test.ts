import { describe, expect, test } from "vitest";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import { sampleConfig } from "../../support/kernel-samples.ts";
import { sampleRoutesDeps, sampleStatus, sampleUpstreamStatus } from "../../support/samples.ts";

function app(badges = true, watchedMs = 30 * 86_400_000) {
  const counts = { ok: 995, failed: 5, throttled: 0, rejected: 0, ours: 0 };
  const columns = () => ({
    columnMs: 3_600_000,
    areQuantiles: false,
    columns: [{ index: 1, counts, watchedMs, failedMs: watchedMs / 200, latency: undefined }],
  });
  const upstream = sampleUpstreamStatus({
    name: "ai-router",
    objective: { availability: 0.999, latencyMs: 1_000 },
    latency: { p50Ms: 100, p95Ms: 234, p99Ms: 300, polls: 60 },
  });
  const status = { ...sampleStatus({ upstreams: [upstream] }), columns };
  const { web, ...config } = sampleConfig();
  return routesToAsk(
    sampleRoutesDeps({ status: () => status, config: () => ({ ...config, web: { ...web, badges } }) }),
  );
}

describe("a badge", () => {
  test.each([
    ["", "ai-router: up"],
    ["?show=24h", "ai-router 24h: 99.5 %"],
    ["?show=7d", "ai-router 7d: 99.5 %"],
    ["?show=30d", "ai-router 30d: 99.5 %"],
    ["?show=p95", "ai-router p95: 234 ms"],
  ])("/badge/ai-router.svg%s says %j in words too, and may be kept for a minute", async (search, words) => {
    const answer = await app().request(`/badge/ai-router.svg${search}`);
    expect([answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")]).toEqual([
      200,
      "image/svg+xml",
      "private, max-age=60",
    ]);
    const svg = await answer.text();
    expect(svg).toContain(`<title>${words}</title>`);
    expect(svg).not.toMatch(/<script|style=|href/);
  });

  test("tells of how much of its window it is, and no verdict while that is little", async () => {
    const svgOf = async (watchedMs: number): Promise<string> =>
      (await app(true, watchedMs).request("/badge/ai-router.svg?show=24h")).text();
    const early = await svgOf(600_000);
    expect(early).toContain("<title>ai-router 24h: 99.5 % of 10 min</title>");
    const missed = await svgOf(86_400_000 / 2);
    expect(missed).toContain("<title>ai-router 24h: 99.5 % of 12 h</title>");
    const fills = [early, missed].map((svg) => /rx="4" fill="([^"]*)"/.exec(svg)?.[1]);
    expect(fills).toEqual(["#565c64", "#b3261e"]);
  });

  test("is not there unless the config says so, nor of a name that is not in it, nor of anything else", async () => {
    const status = async (path: string, badges = true): Promise<number> =>
      (await app(badges).request(path)).status;
    expect(await status("/badge/ai-router.svg", false)).toBe(404);
    expect(await status("/badge/email.svg")).toBe(404);
    expect(await status("/badge/ai-router")).toBe(404);
    expect(await status("/badge/ai-router.svg?show=all")).toBe(400);
  });
});
