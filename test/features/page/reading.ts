import { expect } from "vitest";
import type { Status } from "../../../src/features/status/status.ts";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import type { Markup } from "../../../src/http/markup/markup.ts";
import { sampleRoutesDeps } from "../../support/samples.ts";

export const HOSTILE: string = `"><script>alert('x')</script><img src=x onerror=alert(1)>&amp;\u0000\u001b[31m\u202e`;

export async function pageOf(snapshot: Status, path = "/"): Promise<string> {
  const answer = await routesToAsk(sampleRoutesDeps({ status: () => snapshot })).request(path);
  expect(answer.headers.get("content-type")).toBe("text/html; charset=UTF-8");
  return answer.text();
}

export async function drawn(markup: Markup): Promise<string> {
  return (await markup).toString();
}

/** As a reader sees it; what hovering shows is not in it. */
export function textOf(page: string): string {
  const body = page.slice(page.indexOf("<body>")).replaceAll(/<title>[^<]*<\/title>/g, "");
  return body
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/[ \n]+/g, " ")
    .replaceAll(/ ([.,;:])/g, "$1");
}
