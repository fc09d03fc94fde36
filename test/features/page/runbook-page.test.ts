import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import { sampleRoutesDeps } from "../../support/samples.ts";

const FOLDER = new URL("../../../docs/runbooks/", import.meta.url);
const NAMES = readdirSync(FOLDER)
  .filter((file) => file !== "README.md")
  .map((file) => file.replace(/\.md$/, ""));

async function asked(name: string): Promise<{ status: number; headers: Headers; page: string }> {
  const answer = await routesToAsk(sampleRoutesDeps()).request(`/runbooks/${name}`);
  return { status: answer.status, headers: answer.headers, page: await answer.text() };
}

function articleIn(page: string): string {
  return /<article[^>]*>([^]*)<\/article>/.exec(page)?.[1] ?? "";
}

function proseOf(article: string): string {
  return article.replaceAll(/<(pre|code)>.*?<\/\1>/gs, "").replaceAll(/<[^>]*>/g, "");
}

const MARKDOWN = /`|\]\(|\*\*|^\s*[-#|>]|\b_|_\b/m;

describe("the page of a runbook", () => {
  test.each(NAMES)(
    "%s is rendered whole: nothing of Markdown is left, and its links lead on",
    async (name) => {
      const { status, page } = await asked(name);
      expect(status).toBe(200);
      const article = articleIn(page);
      expect(article.replaceAll("<wbr>", "")).toContain(`<h1>${name}</h1>`);
      expect(article.match(/<h2>/g)).toHaveLength(4);
      expect(article).toMatch(/<pre><code>amtool silence add/);
      expect(proseOf(article)).not.toMatch(MARKDOWN);
      for (const [, target = ""] of article.matchAll(/href="([^"]*)"/g)) expect(NAMES).toContain(target);
    },
  );

  test("is found by the name of its file too, by which links lead to a folder elsewhere", async () => {
    const [byName, byFile] = [await asked("PacewatchDown"), await asked("PacewatchDown.md")];
    expect(byFile.status).toBe(200);
    expect(articleIn(byFile.page)).toBe(articleIn(byName.page));
  });

  test("the list of them leads to each, and nothing of Markdown is left in it", async () => {
    const { status, page } = await asked("");
    expect(status).toBe(200);
    expect(page).toContain("<title>Runbooks · Pacewatch</title>");
    const article = articleIn(page);
    const targets = [...article.matchAll(/href="([^"]*)"/g)].map(([, target]) => target);
    expect(new Set(targets)).toEqual(new Set(NAMES));
    expect(proseOf(article)).not.toMatch(MARKDOWN);
  });

  test("the glossary has a row for each word, and the footer of each page leads to both", async () => {
    const { status, page } = await asked("glossary");
    expect(status).toBe(200);
    expect(articleIn(page)).toContain("<td>lease</td>");
    expect(proseOf(articleIn(page))).not.toMatch(MARKDOWN);
    for (const target of ["../runbooks/", "../runbooks/glossary"])
      expect(page).toContain(`<a href="${target}">`);
  });

  test("names the pages that are only in the package", async () => {
    expect(articleIn((await asked("PacewatchTokenUnavailable")).page)).toContain("(docs/oauth2.md)");
  });

  test("has its lists, emphasis and code, escaped", async () => {
    const article = articleIn((await asked("PacewatchCertificateExpiring")).page);
    expect(article).toContain("&lt;/dev/null");
    expect(article).toMatch(/<ul>\s*<li>/);
    expect(articleIn((await asked("PacewatchDown")).page)).toContain("<em>Status &gt; Targets</em>");
  });

  test("does not reload by itself: whoever reads it keeps what they marked", async () => {
    const { headers, page } = await asked("PacewatchDown");
    expect(headers.has("refresh")).toBe(false);
    expect(page).not.toMatch(/refreshes every|refresh paused/);
  });

  test.each([
    "README",
    "PacewatchNope",
    "..%2F..%2Fpackage",
    "PacewatchDown%2F..%2FREADME",
    "PacewatchDown.md.md",
    // Longer than a file's name may be: who asks for it again and again fills no log.
    `Pacewatch${"Nope".repeat(100)}`,
  ])("%s is not found", async (name) => {
    const { status, page } = await asked(name);
    expect(status).toBe(404);
    expect(page).toContain("No runbook has this name");
  });
});

test("a request that the guards refuse does not read a runbook", async () => {
  const refused = { status: 401, headers: {}, body: "" };
  const routes = routesToAsk(sampleRoutesDeps(), { guards: [() => Promise.resolve(refused)] });
  expect((await routes.request("/runbooks/PacewatchDown")).status).toBe(401);
});
