import { describe, expect, test } from "vitest";
import { reportRoutes } from "../../../src/features/report/route.ts";
import type { ReportQuestion } from "../../../src/features/report/question.ts";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import { sampleConfig, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleRoutesDeps, sampleStatus } from "../../support/samples.ts";

const NOW_MS = Date.parse("2026-11-24T12:00:00Z");

function scene() {
  const asked: ReportQuestion[] = [];
  const names = Array.from({ length: 120 }, (_, place) => `upstream-${place}`);
  const app = appThatReports(names, (question) => {
    asked.push(question);
    return Promise.resolve([`${question.format} of ${question.upstreams.length}`]);
  });
  return { asked, app };
}

function appThatReports(names: readonly string[], make: Parameters<typeof reportRoutes>[1]) {
  const upstreams = names.map((name) => sampleUpstream({ name }));
  const config = sampleConfig({ state: { path: "unused" }, upstreams });
  const status = () => sampleStatus({ nowMs: NOW_MS });
  const deps = sampleRoutesDeps({ status, config: () => config });
  return routesToAsk({ ...deps, features: [reportRoutes(deps, make), ...deps.features] });
}

describe("a report at the port", () => {
  test("is of the last month that is over, as a page, unless more is asked for", async () => {
    const { app, asked } = scene();
    const answer = await app.request("/report?upstream=upstream-7&upstream=upstream-8&upstream=upstream-7");
    expect([answer.status, await answer.text()]).toEqual([200, "html of 2"]);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=UTF-8");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(answer.headers.get("refresh")).toBeNull();
    const day = (text: string): number => Date.parse(text) / 86_400_000;
    expect(asked).toMatchObject([
      {
        upstreams: [{ name: "upstream-7" }, { name: "upstream-8" }],
        asked: {
          firstDay: day("2026-10-01"),
          lastDay: day("2026-10-31"),
          ifEmpty: { firstDay: day("2026-11-01"), lastDay: day("2026-11-30") },
        },
        format: "html",
      },
    ]);
  });

  test.each([
    ["json", "application/json"],
    ["csv", "text/csv; charset=UTF-8"],
  ])("is %s where that is asked for", async (format, type) => {
    const answer = await scene().app.request(`/report?month=2026-09&upstream=upstream-1&format=${format}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
  });

  test.each([
    ["month=october", 400, '"october"'],
    ["format=pdf", 400, "html, json, csv"],
    ["upstream=gone", 404, '"gone"'],
    ["upstream=upstream-7&upstream=typo", 404, '"typo"'],
    // 120 of them for a month.
    ["", 400, "fewer days or upstreams"],
  ])("is refused for %j by %i, with %s", async (search, status, why) => {
    const { app, asked } = scene();
    const answer = await app.request(`/report?${search}`);
    expect(answer.status).toBe(status);
    const text = await answer.text();
    expect(text).toMatch(/^cannot report: /);
    expect(text).toContain(why);
    expect(asked).toEqual([]);
  });

  test("needs a state file", async () => {
    const answer = await routesToAsk(sampleRoutesDeps()).request("/report");
    expect([answer.status, await answer.text()]).toEqual([404, 'cannot report: "state.path" must be set\n']);
  });

  test("is written once for all who ask for the same while it is, and other pages do not wait for it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let written = 0;
    const app = appThatReports(["upstream"], async () => {
      written += 1;
      await promise;
      return ["done"];
    });
    const path = "/report?month=2026-10";
    const first = app.request(path);
    const others = [app.request(path), app.request(path)];
    expect((await app.request("/")).status).toBe(200);
    resolve();
    expect(await Promise.all([first, ...others].map(async (answer) => await (await answer).text()))).toEqual([
      "done",
      "done",
      "done",
    ]);
    expect(written).toBeLessThanOrEqual(2);
  });
});
