import { type HttpAnswer, type HttpRequest, textAnswer } from "../../http/guards/guard.ts";
import type { Answers } from "../../http/routes/answers.ts";
import { get, type RoutesOf } from "../../http/routes/routes.ts";
import type { Config } from "../../kernel/config/config.ts";
import type { Columns, Range } from "../history/timeline.ts";
import { type Badged, badgeOf, BADGES } from "./badge.ts";

export type BadgeDeps = {
  status(): {
    facts(upstream: string): Badged | undefined;
    columns(upstream: string, range: Range): Columns;
  };
  config(): Config;
};

export function badgeRoutes(deps: BadgeDeps): RoutesOf {
  return (answers) => [get("/badge/:name.svg", (request, name) => badge(request, name, deps, answers))];
}

/** Other pages show it. They may keep it for a minute. */
async function badge(
  request: HttpRequest,
  name: string,
  deps: BadgeDeps,
  answers: Answers,
): Promise<HttpAnswer> {
  if (deps.config().web.badges !== true)
    return textAnswer('cannot show a badge: "web.badges" must be true\n', 404);
  const shown = BADGES.find((each) => each === (request.url.searchParams.get("show") ?? "state"));
  if (shown === undefined)
    return textAnswer(`cannot show a badge: show must be one of ${BADGES.join(", ")}\n`, 400);
  if (deps.status().facts(name) === undefined)
    return textAnswer("cannot show a badge: no upstream has this name\n", 404);
  const answer = await answers.serve(request, `${request.path} ${shown}`, () => {
    const status = deps.status();
    const facts = status.facts(name);
    return {
      status: 200,
      type: "image/svg+xml",
      pieces: facts === undefined ? [] : [badgeOf(shown, facts, (range) => status.columns(name, range))],
    };
  });
  return answer.status === 200
    ? { ...answer, headers: { ...answer.headers, "Cache-Control": "private, max-age=60" } }
    : answer;
}
